// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "command_line.h"

#include "text.h"
#include "text_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>

namespace r3 {
namespace {

using std::string_view;

template <size_t N> bool isOneOf(string_view Text, const std::array<string_view, N> &Words) {
  return std::find(Words.begin(), Words.end(), Text) != Words.end();
}

void expandInto(std::vector<std::string> &Out, const std::string &Argument, unsigned Depth) {
  constexpr unsigned DeepestNesting = 32; // a file that names itself ends here
  std::optional<std::string> Content;
  if (Argument.size() > 1 && Argument[0] == '@' && Depth < DeepestNesting)
    Content = readFile(Argument.substr(1));
  if (!Content) {
    Out.push_back(Argument);
    return;
  }
  for (const std::string &Token : splitWords(*Content))
    expandInto(Out, Token, Depth + 1);
}

/// Commands that make no object, or only one half of it: the IR would have nowhere to go.
bool makesNoObject(string_view Argument) {
  constexpr std::array<string_view, 30> Options = {"-E",
                                                   "-M",
                                                   "-MM",
                                                   "-S",
                                                   "-###",
                                                   "-cc1",
                                                   "-cc1as",
                                                   "-emit-llvm",
                                                   "-emit-ast",
                                                   "-fsyntax-only",
                                                   "-module-file-info",
                                                   "-verify-pch",
                                                   "-dumpmachine",
                                                   "-dumpversion",
                                                   "-help",
                                                   "--help",
                                                   "--help-hidden",
                                                   "--version",
                                                   "--preprocess",
                                                   "--assemble",
                                                   "--dependencies",
                                                   "--user-dependencies",
                                                   "--analyze",
                                                   "--analyze-auto",
                                                   "--precompile",
                                                   "-extract-api",
                                                   "--offload-device-only",
                                                   "--offload-host-only",
                                                   "--cuda-device-only",
                                                   "--cuda-host-only"};
  return isOneOf(Argument, Options) || startsWith(Argument, "-print-") || startsWith(Argument, "--print-") ||
         startsWith(Argument, "--autocomplete=");
}

/// Options whose value is the next argument, where that value may look like a source.
bool takesValue(string_view Argument) {
  constexpr std::array<string_view, 18> Options = {
      "-o", "--output", "-MF",      "-MT",      "-MQ",     "-MJ",     "-I",       "-L",     "-D",
      "-U", "-include", "-imacros", "-isystem", "-iquote", "-Xclang", "-Xlinker", "-mllvm", "-Xcuda-ptxas"};
  return isOneOf(Argument, Options);
}

bool isDeviceLanguage(string_view Language) {
  constexpr std::array<string_view, 5> Languages = {"cuda", "cu", "hip", "cuda-cpp-output", "hip-cpp-output"};
  return isOneOf(Language, Languages);
}

bool isDeviceSource(string_view Path) {
  constexpr std::array<string_view, 4> Suffixes = {".cu", ".hip", ".cui", ".hipi"};
  return std::any_of(Suffixes.begin(), Suffixes.end(),
                     [&](string_view Suffix) { return endsWith(Path, Suffix); });
}

/// Walks a command and keeps the language that -x sets for the inputs after it.
class InputSearch {
public:
  explicit InputSearch(const std::vector<std::string> &Arguments) : Arguments(Arguments) {}

  /// Whether an object is made from a CUDA or HIP input.
  bool makesDeviceObject() {
    bool HasDeviceInput = false;
    for (Index = 0; Index < Arguments.size(); ++Index) {
      string_view Argument = Arguments[Index];
      if (!OnlyInputs && makesNoObject(Argument))
        return false;
      HasDeviceInput |= !readLanguage(Argument) && isDeviceInput(Argument);
    }
    return HasDeviceInput;
  }

private:
  bool readLanguage(string_view Argument) {
    if (OnlyInputs)
      return false;
    if (Argument == "-x" || Argument == "--language")
      Language = Index + 1 < Arguments.size() ? string_view(Arguments[++Index]) : string_view();
    else if (startsWith(Argument, "-x"))
      Language = Argument.substr(2);
    else if (startsWith(Argument, "--language="))
      Language = Argument.substr(std::strlen("--language="));
    else
      return false;
    return true;
  }

  bool isDeviceInput(string_view Argument) {
    if (!OnlyInputs && Argument == "--") {
      OnlyInputs = true;
      return false;
    }
    bool IsOption = !OnlyInputs && Argument.size() > 1 && Argument[0] == '-';
    if (IsOption) {
      Index += takesValue(Argument);
      return false;
    }
    bool LanguageSet = !Language.empty() && Language != "none";
    return LanguageSet ? isDeviceLanguage(Language) : isDeviceSource(Argument);
  }

  const std::vector<std::string> &Arguments;
  size_t Index = 0;
  string_view Language;
  bool OnlyInputs = false;
};

} // namespace

std::vector<std::string> expandResponseFiles(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Expanded;
  for (const std::string &Argument : Arguments)
    expandInto(Expanded, Argument, 0);
  return Expanded;
}

std::vector<std::string> withOwnOptionsInSight(const std::vector<std::string> &Arguments) {
  auto OwnOptions = [](const std::vector<std::string> &Words) {
    return std::count_if(Words.begin(), Words.end(),
                         [](const std::string &Word) { return startsWith(Word, "--r3-"); });
  };
  std::vector<std::string> Expanded = expandResponseFiles(Arguments);
  return OwnOptions(Expanded) == OwnOptions(Arguments) ? Arguments : Expanded;
}

bool compilesDeviceCode(const std::vector<std::string> &Arguments) {
  return InputSearch(Arguments).makesDeviceObject();
}

} // namespace r3
