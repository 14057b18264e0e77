// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ptxas.h"

#include "common/ptxas_request.h"
#include "process.h"
#include "programs.h"
#include "text.h"
#include "text_file.h"

#include <algorithm>
#include <cstdlib>

namespace r3 {
namespace {

bool asksForPtxas(const std::string &Profile) {
  std::string Text = readFile(Profile).value_or("");
  return Text.find("\"ptxas-opt\"") != std::string::npos ||
         Text.find("\"maxrregcount\"") != std::string::npos;
}

/// Code for AMD's GPUs, for which clang runs no ptxas.
bool isForAmd(const std::string &Argument) {
  return Argument == "hip" || Argument == "-xhip" || endsWith(Argument, ".hip") ||
         startsWith(Argument, "--offload-arch=gfx");
}

/// The ptxas that clang would run: of --cuda-path, else the one on PATH, else that of the usual toolkit.
std::string clangsPtxas(const std::vector<std::string> &Expanded) {
  constexpr const char *Option = "--cuda-path=";
  for (auto Argument = Expanded.rbegin(); Argument != Expanded.rend(); ++Argument)
    if (startsWith(*Argument, Option))
      return Argument->substr(std::string(Option).size()) + "/bin/ptxas";
  std::string Found = findOnPath("ptxas");
  return Found.empty() ? "/usr/local/cuda/bin/ptxas" : Found;
}

bool isLevel(const std::string &Argument) {
  return (Argument.size() == 3 && startsWith(Argument, "-O")) || startsWith(Argument, "--opt-level") ||
         startsWith(Argument, "-opt-level");
}

bool isCap(const std::string &Argument) {
  return startsWith(Argument, "--maxrregcount") || startsWith(Argument, "-maxrregcount");
}

/// Flags that may have their value in the next argument, with it in one.
std::vector<std::string> joined(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Joined;
  for (size_t Index = 0; Index < Arguments.size(); ++Index) {
    const std::string &Own = Arguments[Index];
    bool IsAlone = Own.find('=') == std::string::npos && Own.size() > 3 && (isLevel(Own) || isCap(Own));
    if (IsAlone && Index + 1 < Arguments.size())
      Joined.push_back(Own + '=' + Arguments[++Index]);
    else
      Joined.push_back(Own);
  }
  return Joined;
}

/// Flags named by the comments of a PTX file; none for any other file.
std::vector<std::string> requestedBy(const std::string &Path) {
  std::vector<std::string> Flags;
  std::string Text = isFile(Path) ? readFile(Path).value_or("") : "", Mark = ptxas::FlagComment;
  for (size_t At = Text.find(Mark); At != std::string::npos; At = Text.find(Mark, At)) {
    At += Mark.size();
    Flags.push_back(Text.substr(At, Text.find_first_of("\r\n", At) - At));
  }
  return Flags;
}

} // namespace

std::vector<std::string> ptxasFlags(const std::string &Profile, const std::vector<std::string> &Expanded) {
  auto IsChoice = [](const std::string &Argument) { return startsWith(Argument, "--ptxas-path"); };
  std::string Ours = libraryFile(PtxasProgram), Real = clangsPtxas(Expanded);
  unsetenv(ptxas::RealVariable);
  auto Has = [&](auto Is) { return std::any_of(Expanded.begin(), Expanded.end(), Is); };
  if (!asksForPtxas(Profile) || Has(IsChoice) || Has(isForAmd) || !isProgram(Ours) || !isProgram(Real))
    return {};
  setenv(ptxas::RealVariable, Real.c_str(), 1);
  return {"--ptxas-path=" + Ours};
}

void runPtxas(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Kept = joined(Arguments);
  for (const std::string &Argument : Arguments) {
    if (startsWith(Argument, "-"))
      continue;
    for (const std::string &Flag : requestedBy(Argument)) {
      auto Replaces = [&](const std::string &Own) {
        return isLevel(Flag) ? isLevel(Own) : isCap(Flag) && isCap(Own);
      };
      Kept.erase(std::remove_if(Kept.begin(), Kept.end(), Replaces), Kept.end());
      Kept.push_back(Flag);
    }
  }
  std::string Real = environment(ptxas::RealVariable);
  if (Real.empty())
    fail("r3-ptxas is run by a build with --r3-use only");
  become(Real, Kept);
}

} // namespace r3
