// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hipcc_command.h"

#include "programs.h"
#include "text.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>

namespace r3 {
namespace {

using std::string_view;
using Words = std::vector<std::string>;

bool isOneOf(string_view Text, std::initializer_list<string_view> Choices) {
  return std::find(Choices.begin(), Choices.end(), Text) != Choices.end();
}

void append(Words &Out, const Words &More) { Out.insert(Out.end(), More.begin(), More.end()); }

string_view suffixOf(string_view Path) {
  size_t Dot = Path.rfind('.');
  return Dot == string_view::npos || Path.find('/', Dot) != string_view::npos ? string_view()
                                                                              : Path.substr(Dot);
}

/// Options whose value is the next argument.
bool takesValue(string_view Option) {
  return isOneOf(Option, {"-o",          "-I",         "-L",       "-D",       "-U",         "-l",
                          "-include",    "-imacros",   "-isystem", "-iquote",  "-idirafter", "-MF",
                          "-MT",         "-MQ",        "-Xclang",  "-Xlinker", "-mllvm",     "-Xarch_device",
                          "-Xarch_host", "-framework", "-target",  "-T",       "-u",         "-z"});
}

/// What a command of hipcc says, whichever platform it is for.
struct HipccFacts {
  /// A word as it stands, or an input that gets its language from its name.
  struct Word {
    std::string text;
    bool isInput;
  };
  std::vector<Word> words;
  Words architectures;
  RocmChoice rocm;
  bool links = true;
  bool relocatable = false;
  bool optimizes = false;      ///< has an -O
  bool unoptimized = false;    ///< the last one is -O0
  bool callsFunctions = false; ///< --hipcc-func-supp
  bool languageSet = false;    ///< -x in front of the inputs
  bool hasInput = false;
  bool fastMath = false;
  bool codeObject = false; ///< --genco
  bool wave64 = false;
  HipccQuestion question = HipccQuestion::None;
};

/// Reads a command from left to right.
class Reader {
public:
  explicit Reader(const Words &Arguments) : Arguments(Arguments) {}

  HipccFacts run() {
    for (Index = 0; Index < Arguments.size(); ++Index)
      read(Arguments[Index]);
    return std::move(Facts);
  }

private:
  void keep(const std::string &Text) { Facts.words.push_back({Text, false}); }

  /// The value of an option "--name=value".
  static std::optional<std::string> valueOf(const std::string &Argument, string_view Option) {
    if (!startsWith(Argument, Option))
      return std::nullopt;
    return Argument.substr(Option.size());
  }

  void read(const std::string &Argument) {
    if (Argument.empty() || Argument[0] != '-' || Argument == "-") {
      Facts.words.push_back({Argument, !Facts.languageSet});
      Facts.hasInput = true;
    } else if (!readOwn(Argument) && !readChoice(Argument)) {
      readClang(Argument);
    }
  }

  /// Options that only hipcc knows.
  bool readOwn(const std::string &Argument) {
    if (Argument == "--genco")
      Facts.codeObject = true, Facts.links = false;
    else if (Argument == "--hipcc-func-supp")
      Facts.callsFunctions = true;
    else if (Argument == "--version")
      Facts.question = HipccQuestion::Version;
    else if (Argument == "--short-version")
      Facts.question = HipccQuestion::ShortVersion;
    else if (Argument == "--cxxflags")
      Facts.question = HipccQuestion::CompileFlags;
    else if (Argument == "--ldflags")
      Facts.question = HipccQuestion::LinkFlags;
    else if (Argument == "-use_fast_math")
      Facts.fastMath = true;
    else if (auto Version = valueOf(Argument, "--amdhsa-code-object-version="))
      keep("-mcode-object-version=" + *Version);
    else
      return startsWith(Argument, "--hipcc") || isOneOf(Argument, {"-use-staticlib", "-use-sharedlib"});
    return true;
  }

  /// Options that choose GPUs and trees.
  bool readChoice(const std::string &Argument) {
    for (string_view Option : {"--offload-arch=", "--amdgpu-target=", "--cuda-gpu-arch="})
      if (auto Value = valueOf(Argument, Option)) {
        append(Facts.architectures, split(*Value, ','));
        return true;
      }
    if (auto Root = valueOf(Argument, "--rocm-path="))
      Facts.rocm.root = *Root;
    else if (auto Bitcode = valueOf(Argument, "--rocm-device-lib-path="))
      Facts.rocm.bitcode = *Bitcode;
    else if (auto Old = valueOf(Argument, "--hip-device-lib-path="))
      Facts.rocm.bitcode = *Old;
    else
      return false;
    return true;
  }

  /// clang's own: kept, some of them noted.
  void readClang(const std::string &Argument) {
    if (isOneOf(Argument, {"-c", "-E", "-S", "-M", "-MM", "-fsyntax-only", "--cuda-device-only",
                           "--offload-device-only"}))
      Facts.links = false;
    else if (startsWith(Argument, "-O"))
      Facts.optimizes = true, Facts.unoptimized = Argument == "-O0";
    else if (isOneOf(Argument, {"-fgpu-rdc", "-fno-gpu-rdc"}))
      Facts.relocatable = Argument == "-fgpu-rdc";
    else if (startsWith(Argument, "-x"))
      Facts.languageSet = true;
    Facts.wave64 |= Argument == "-mwavefrontsize64";
    keep(Argument);
    bool HasValue = takesValue(Argument) || Argument == "-x";
    if (HasValue && Index + 1 < Arguments.size())
      keep(Arguments[++Index]);
  }

  const Words &Arguments;
  size_t Index = 0;
  HipccFacts Facts;
};

/// The language that hipcc gives a source by its name; empty where clang's own choice serves.
string_view languageOf(string_view Path, bool CxxIsHip, string_view Device) {
  string_view Suffix = suffixOf(Path);
  if (Suffix == ".hip")
    return Device;
  if (isOneOf(Suffix, {".cpp", ".cxx", ".cc", ".C", ".c++", ".cu"}))
    return CxxIsHip ? Device : string_view();
  return {};
}

/// The words of a command with -x in front of each source that needs it, and taken back behind it.
Words withLanguages(const HipccFacts &Facts, bool CxxIsHip, string_view Device) {
  Words Out;
  bool Set = false;
  for (const HipccFacts::Word &Word : Facts.words) {
    string_view Language = Word.isInput ? languageOf(Word.text, CxxIsHip, Device) : string_view();
    if (Word.isInput && Language.empty() && Set)
      append(Out, {"-x", "none"}), Set = false;
    if (!Language.empty() && !Set)
      append(Out, {"-x", std::string(Language)}), Set = true;
    Out.push_back(Word.text);
  }
  if (Set)
    append(Out, {"-x", "none"}); // libraries that follow are no sources
  return Out;
}

bool compilesHip(const Words &Command) {
  for (size_t Index = 0; Index + 1 < Command.size(); ++Index)
    if (Command[Index] == "-x" && Command[Index + 1] == "hip")
      return true;
  return std::find(Command.begin(), Command.end(), "-xhip") != Command.end();
}

/// hipcc inlines every device function, at every level but -O0.
Words compileFlags(const HipccFacts &Facts, const RocmTree &Tree, bool Hip) {
  Words Flags;
  if (Hip)
    Flags = rocmFlags(Tree);
  if (!Facts.optimizes)
    Flags.push_back("-O3");
  if (Hip && !Facts.callsFunctions && !Facts.unoptimized)
    append(Flags, {"-mllvm", "-amdgpu-early-inline-all=true", "-mllvm", "-amdgpu-function-calls=false"});
  if (Facts.fastMath)
    Flags.push_back("-DHIP_FAST_MATH");
  if (Facts.wave64)
    Flags.push_back("-DR3_WAVEFRONT_64");
  return Flags;
}

Words linkFlags(const RocmTree &Tree) {
  Words Flags;
  if (std::string Folder = Tree.libraries(); !Folder.empty()) {
    Flags.push_back("-L" + Folder);
    if (Tree.hip != "/usr")
      Flags.push_back("-Wl,-rpath," + Folder);
  }
  append(Flags, {"-lamdhip64", "-lpthread", "-lm"});
  return Flags;
}

std::string versionText(const RocmTree &Tree) {
  return std::to_string(Tree.major) + '.' + std::to_string(Tree.minor) + '.' + std::to_string(Tree.patch);
}

std::string answerTo(const HipccFacts &Facts, const RocmTree &Tree) {
  switch (Facts.question) {
  case HipccQuestion::Version:
    return "HIP version: " + versionText(Tree) + '\n';
  case HipccQuestion::ShortVersion:
    return versionText(Tree) + '\n';
  case HipccQuestion::CompileFlags:
    return join(compileFlags(Facts, Tree, true), " ");
  case HipccQuestion::LinkFlags:
    return join(linkFlags(Tree), " ");
  case HipccQuestion::None:
    return {};
  }
  return {};
}

} // namespace

Result<HipccCommand> translateHipcc(const Words &Arguments, const HipccAdditions &Additions) {
  HipccFacts Facts = Reader(Arguments).run();
  Result<RocmTree> Tree = findRocmTree(Facts.rocm);
  if (!Tree)
    return Problem{Tree.problem()};
  HipccCommand Command;
  Command.question = Facts.question;
  Command.answer = answerTo(Facts, *Tree);
  Words Body = withLanguages(Facts, Additions.cxxIsHip, "hip");
  bool Hip = compilesHip(Body), Links = Facts.links && Facts.hasInput;
  Words &Out = Command.arguments;
  Out = compileFlags(Facts, *Tree, Hip);
  Out.push_back("-Wno-unused-command-line-argument");
  if (Hip || Facts.relocatable)
    for (const std::string &Architecture :
         Facts.architectures.empty() ? Additions.architectures : Facts.architectures)
      Out.push_back("--offload-arch=" + Architecture);
  if (Facts.codeObject)
    Out.push_back("--offload-device-only");
  if (Facts
          .relocatable) // the old driver compiles the host first, which then has no device code to take along
    Out.push_back("--offload-new-driver");
  append(Out, Additions.compile);
  append(Out, Body);
  if (Links) {
    if (Facts.relocatable)
      Out.push_back("--hip-link");
    append(Out, linkFlags(*Tree));
    append(Out, Additions.link);
  }
  return Command;
}

HipccCommand translateHipccForNvidia(const Words &Arguments, const HipccAdditions &Additions) {
  HipccFacts Facts = Reader(Arguments).run();
  HipccCommand Command;
  Words &Out = Command.arguments;
  Out = {"-isystem", libraryFile("include/r3/hip_nvidia"), "-D__HIP_PLATFORM_NVIDIA__=1",
         "-D__HIP_PLATFORM_NVCC__=1"};
  if (!Facts.optimizes)
    Out.push_back("-O3");
  for (const std::string &Architecture : Facts.architectures)
    Out.push_back("-gencode=arch=compute_" + Architecture.substr(Architecture.find('_') + 1) +
                  ",code=" + Architecture);
  if (Facts.relocatable)
    Out.push_back("-rdc=true");
  if (Facts.fastMath)
    Out.push_back("-use_fast_math");
  if (Facts.codeObject)
    Out.push_back("-ptx");
  append(Out, Additions.compile);
  bool DeviceSource = false;
  for (const HipccFacts::Word &Word : Facts.words) {
    DeviceSource |= Word.isInput && languageOf(Word.text, true, "cu") == "cu";
    if (Word.text != "-fgpu-rdc" && Word.text != "-fno-gpu-rdc")
      Out.push_back(Word.text);
  }
  if (DeviceSource)
    append(Out, {"-x", "cu"});
  if (Facts.question == HipccQuestion::Version)
    Out.push_back("--version");
  if (Facts.links)
    append(Out, Additions.link);
  return Command;
}

} // namespace r3
