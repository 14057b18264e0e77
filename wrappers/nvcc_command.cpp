// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvcc_command.h"

#include "compatibility.h"
#include "host_compiler.h"
#include "nvcc_architectures.h"
#include "nvcc_options.h"
#include "programs.h"
#include "text.h"
#include "text_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <utility>

namespace r3 {
namespace {

using std::string_view;
using Words = std::vector<std::string>;

/// What clang takes for an error by default and nvcc's host compiler for a warning, or not at all; what clang
/// says about flags that nvcc's makefiles repeat at the link.
constexpr std::array<const char *, 7> Lenient = {"-Wno-unknown-cuda-version",
                                                 "-Wno-unused-command-line-argument",
                                                 "-Wno-register",
                                                 "-Wno-error=c++11-narrowing",
                                                 "-Wno-error=reserved-user-defined-literal",
                                                 "-Wno-error=invalid-constexpr",
                                                 "-Wno-pass-failed"};

constexpr const char *NewerPtx = "--cuda-feature=+ptx90";

bool isOneOf(string_view Text, std::initializer_list<string_view> Words) {
  return std::find(Words.begin(), Words.end(), Text) != Words.end();
}

string_view suffixOf(string_view Path) {
  size_t Dot = Path.rfind('.');
  return Dot == string_view::npos ? string_view() : Path.substr(Dot);
}

bool isSource(string_view Path) {
  return isOneOf(suffixOf(Path), {".cu", ".hip", ".c", ".cc", ".cxx", ".cpp", ".C", ".c++", ".cp"});
}

/// What gcc takes in C with a warning.
constexpr std::array<const char *, 6> LenientC = {"-Wno-error=implicit-int",
                                                  "-Wno-error=implicit-function-declaration",
                                                  "-Wno-error=int-conversion",
                                                  "-Wno-error=incompatible-pointer-types",
                                                  "-Wno-error=incompatible-function-pointer-types",
                                                  "-Wno-error=return-mismatch"};

/// "a/b.cu" and ".ptx" are "b.ptx".
std::string defaultOutput(const std::string &Source, string_view Suffix) {
  std::string Name = baseName(Source);
  return Name.substr(0, Name.rfind('.')) + std::string(Suffix);
}

/// Splits at commas, and at spaces for options; a backslash keeps a comma.
Words listElements(const std::string &Text, NvccValue Kind) {
  if (Kind != NvccValue::List && Kind != NvccValue::Options)
    return {Text};
  Words Elements;
  for (const std::string &Word : Kind == NvccValue::Options ? splitWords(Text) : Words{Text}) {
    // nvcc would tear -Wl,-rpath,/x apart, and the host linker would never see it.
    if (Kind == NvccValue::Options && (startsWith(Word, "-Wl,") || startsWith(Word, "-Wa,")))
      Elements.push_back(Word);
    else
      for (std::string &Part : split(Word, ','))
        if (!Elements.empty() && endsWith(Elements.back(), "\\"))
          Elements.back().back() = ',', Elements.back() += Part;
        else
          Elements.push_back(std::move(Part));
  }
  return Elements;
}

bool isTrue(const std::string &Text) { return isOneOf(Text, {"true", "on", "1", "yes"}); }

/// Reads a command from left to right, then writes what it amounts to.
class Translation {
public:
  explicit Translation(const Words &Arguments) : Arguments(Arguments) {}

  Result<ClangCommand> run() {
    for (Index = 0; Index < Arguments.size() && Trouble.empty(); ++Index)
      readArgument(Arguments[Index]);
    if (Trouble.empty())
      finish();
    if (!Trouble.empty())
      return Problem{Trouble};
    return std::move(Command);
  }

private:
  /// A word of clang's command; inputs get the language that -x sets, wherever it stands.
  struct Word {
    std::string text;
    bool isInput;
  };

  void write(const std::string &Text) { Body.push_back({Text, false}); }
  void writeAll(const Words &Texts) {
    for (const std::string &Text : Texts)
      write(Text);
  }
  void refuse(const std::string &Flag, string_view Reason) {
    Trouble = "r3-nvcc has no equal for " + Flag + ": " + std::string(Reason);
  }
  void note(const std::string &Text) { Command.notes.push_back(Text); }

  void readArgument(const std::string &Argument) {
    std::optional<FoundOption> Found = findNvccOption(Argument);
    if (Found)
      readOption(Argument, *Found);
    else if (Argument.size() > 1 && Argument[0] == '-')
      write(Argument); // clang's own, or unknown to both: clang says so
    else
      addInput(Argument);
  }

  void addInput(const std::string &Path) {
    if (suffixOf(Path) == ".ptx" || suffixOf(Path) == ".cubin" || suffixOf(Path) == ".fatbin")
      return refuse(Path, "clang takes sources and objects");
    Command.inputs.push_back(Path);
    Body.push_back({Path, true});
  }

  void readOption(const std::string &Spelling, const FoundOption &Found) {
    std::string Value = Found.value.value_or("");
    if (!Found.value && takesNext(*Found.option)) {
      if (Index + 1 >= Arguments.size()) {
        Trouble = "the option " + Spelling + " needs a value";
        return;
      }
      Value = Arguments[++Index];
    }
    for (const std::string &Element : listElements(Value, Found.option->takes))
      apply(Spelling, *Found.option, Element);
  }

  /// -O alone is -O3 for some and -O1 for others; its level never stands apart unless it is a digit.
  bool takesNext(const NvccOption &Option) const {
    if (Option.takes == NvccValue::None)
      return false;
    bool HasNext = Index + 1 < Arguments.size();
    if (Option.action == NvccAction::Optimize)
      return HasNext && Arguments[Index + 1].size() == 1 && std::isdigit(Arguments[Index + 1][0]);
    if (Option.takes == NvccValue::Boolean)
      return HasNext && isOneOf(Arguments[Index + 1], {"true", "false", "on", "off"});
    return true;
  }

  void apply(const std::string &Spelling, const NvccOption &Option, const std::string &Value) {
    switch (Option.action) {
    case NvccAction::Write:
      return writeTemplate(Option.text, Value);
    case NvccAction::WriteTrue:
      return Value.empty() || isTrue(Value) ? writeTemplate(Option.text, "") : void();
    case NvccAction::WriteFalse:
      return Value.empty() || isTrue(Value) ? void() : writeTemplate(Option.text, "");
    case NvccAction::Drop:
      return note(Spelling + (Value.empty() ? "" : " (" + Value + ")") +
                  " is dropped: " + std::string(Option.text));
    case NvccAction::Refuse:
      return refuse(Spelling, Option.text);
    case NvccAction::Relocatable:
      Relocatable = Value.empty() || isTrue(Value);
      return;
    case NvccAction::Phase:
      return setPhase(Option.text);
    case NvccAction::Toolkit:
      Command.phase = NvccPhase::Toolkit;
      return;
    case NvccAction::Output:
      Command.output = Value;
      return;
    case NvccAction::OutputDirectory:
      OutputDirectory = Value;
      return;
    case NvccAction::Language:
      Language = Value == "cu" ? "cuda" : Value;
      return;
    case NvccAction::CudaPath:
      CudaPath = Value;
      return;
    case NvccAction::NoCompatibility:
      Compatible = false;
      return;
    case NvccAction::Compatibility:
      Compatible = true;
      return;
    case NvccAction::Verbose:
      Command.verbose = true;
      return write("-v");
    default:
      return applyToCode(Spelling, Option, Value);
    }
  }

  void applyToCode(const std::string &Spelling, const NvccOption &Option, const std::string &Value) {
    switch (Option.action) {
    case NvccAction::Architecture:
      return Architectures.setArchitecture(Value);
    case NvccAction::Code:
      return Architectures.addCode(Value);
    case NvccAction::CodeOf:
      if (Result<bool> Added = Architectures.addGenerateCode(Value); !Added)
        Trouble = Added.problem();
      return;
    case NvccAction::Optimize:
      HostLevel = Value.empty() ? "-O1" : "-O" + Value;
      return;
    case NvccAction::DeviceDebug:
      DeviceDebug = true;
      return;
    case NvccAction::FastMath:
      return writeAll({"-fgpu-flush-denormals-to-zero", "-fgpu-approx-transcendentals", "-Xarch_device",
                       "-mllvm=-nvptx-prec-divf32=0", "-Xarch_device", "-mllvm=-nvptx-prec-sqrtf32=0"});
    case NvccAction::DefaultStream:
      return write("-fgpu-default-stream=" + (Value == "null" ? "legacy" : Value));
    case NvccAction::HostCompiler:
      return setHostCompiler(Value);
    case NvccAction::HostOptions:
      return writeAll(hostOption(Value));
    case NvccAction::Runtime:
      if (!isOneOf(Value, {"none", "shared", "static"}))
        return refuse(Spelling + " " + Value, "it is none, shared or static");
      Runtime = Value;
      return;
    default:
      return;
    }
  }

  void writeTemplate(string_view Template, const std::string &Value) {
    for (const std::string &Word : split(Template, ' '))
      write(substitute(Word, Value));
  }

  void setPhase(string_view Name) {
    PhaseFlag.clear();
    if (Name == "object" || Name == "relocatable object" || Name == "whole object") {
      Command.phase = NvccPhase::Object;
      PhaseFlag = "-c";
      if (Name != "object")
        Relocatable = Name == "relocatable object";
    } else if (Name == "device link")
      Command.phase = NvccPhase::DeviceLink;
    else if (Name == "library")
      Command.phase = NvccPhase::Library;
    else if (Name == "ptx")
      Command.phase = NvccPhase::Ptx;
    else if (Name == "cubin" || Name == "fatbin") {
      Command.phase = NvccPhase::Cubin;
      BinarySuffix = "." + std::string(Name);
    } else if (Name[0] == '-') {
      Command.phase = NvccPhase::Inspect;
      PhaseFlag = Name;
    } else
      Command.phase = NvccPhase::Program;
  }

  void setHostCompiler(const std::string &Path) {
    if (std::optional<HostFlags> Flags = flagsOfMpiWrapper(Path)) {
      HostCompile = Flags->compile;
      HostLink = Flags->link;
      return note("-ccbin " + Path + " gives its flags: " + join(Flags->compile, " ") + ' ' +
                  join(Flags->link, " "));
    }
    note("-ccbin " + Path + " is dropped: the host compiler is clang");
  }

  /// A flag of the host compiler. Those that choose code are about the host alone; clang knows neither side
  /// of -Werror's warnings by gcc's rules.
  Words hostOption(const std::string &Flag) {
    constexpr std::array<string_view, 11> BothSides = {
        "-fPI",  "-fpi",     "-fopenmp",      "-fvisibility", "-fsanitize", "-fprofile",
        "-flto", "-fuse-ld", "-fdiagnostics", "-fpermissive", "-fcolor"};
    if (startsWith(Flag, "-Werror")) {
      note("-Xcompiler " + Flag + " is dropped: clang warns of other things than gcc");
      return {};
    }
    bool IsCode = startsWith(Flag, "-f") || startsWith(Flag, "-m") || startsWith(Flag, "-O");
    // -fopenmp is about both sides to clang's driver; this one it would hand to the device's compiler, which
    // refuses it.
    bool Both = Flag != "-fopenmp-simd" && std::any_of(BothSides.begin(), BothSides.end(),
                                                       [&](string_view P) { return startsWith(Flag, P); });
    if (isOneOf(Flag, {"-m64", "-rdynamic"}) || !IsCode || Both)
      return {Flag};
    return {"-Xarch_host", Flag};
  }

  bool hasDeviceSource() const {
    return std::any_of(Command.inputs.begin(), Command.inputs.end(), [&](const std::string &Path) {
      return isSource(Path) && (Language.empty() ? suffixOf(Path) == ".cu" : Language == "cuda");
    });
  }

  bool hasCSource() const {
    return std::any_of(Command.inputs.begin(), Command.inputs.end(), [&](const std::string &Path) {
      return Language.empty() ? suffixOf(Path) == ".c" : Language == "c" && isSource(Path);
    });
  }

  bool hasSource() const { return std::any_of(Command.inputs.begin(), Command.inputs.end(), isSource); }

  void writeCompatibility() {
    Words Flags = compatibilityFlags();
    if (!Flags.empty())
      write("-DR3_AS_NVCC");
    writeAll(Flags);
  }

  void finish() {
    Result<CudaTree> Tree = findCudaTree(CudaPath);
    if (!Tree) {
      Trouble = Tree.problem();
      return;
    }
    Command.cuda = *Tree;
    std::vector<Word> User = std::exchange(Body, {});
    writeDefaults();
    for (const Word &W : User)
      W.isInput ? writeInput(W.text) : write(W.text);
    writeIncludes();
    writePhase();
    if (Command.phase == NvccPhase::DeviceLink)
      chooseDeviceLink();
    for (Word &W : Body)
      Command.arguments.push_back(std::move(W.text));
  }

  /// What stands before the user's own words, so that those win.
  void writeDefaults() {
    writeAll(Words(Lenient.begin(), Lenient.end()));
    if (hasCSource())
      writeAll(Words(LenientC.begin(), LenientC.end()));
    write("--cuda-path=" + Command.cuda.root);
    if (Relocatable)
      writeRelocatable();
    if (hasDeviceSource())
      writeDeviceDefaults();
    if (Compatible && hasSource())
      writeCompatibility();
    if (!HostLevel.empty())
      write(HostLevel);
    writeAll(HostCompile);
  }

  void writeRelocatable() {
    writeAll({"-fgpu-rdc", "-D__CUDACC_RDC__"});
    // Without device LTO, nvlink refuses a kernel that another file launches; with it, --r3-use can't act.
    if (environment("R3_USE").empty())
      write("-foffload-lto");
    else
      note("device code is linked without LTO, so that --r3-use acts");
  }

  void writeDeviceDefaults() {
    Result<NvccArchitectures::Images> Images = Architectures.images(Command.cuda.major);
    if (!Images) {
      Trouble = Images.problem();
      return;
    }
    if (isDeviceOnly() && Images->machine.size() != 1)
      return refuse("several GPUs", "with -ptx, -cubin and -fatbin clang makes one image; name one GPU");
    for (const std::string &Name : Images->machine)
      write("--offload-arch=" + Name);
    for (const std::string &Name : Images->newerPtx)
      writeAll({"-Xarch_" + Name, NewerPtx});
    if (!Relocatable && !isDeviceOnly())
      for (const std::string &Name : Images->ptx)
        write("--cuda-include-ptx=" + Name);
    Command.notes.insert(Command.notes.end(), Images->notes.begin(), Images->notes.end());
    // nvcc's -O is about the host; device code is always optimised, but for -G.
    if (DeviceDebug)
      writeAll({"-Xarch_device", "-O0", "-Xarch_device", "-g", "--cuda-noopt-device-debug"});
    else
      writeAll({"-Xarch_device", "-O3"});
    if (!isFile(Command.cuda.include() + "/curand_mtgp32_kernel.h")) // clang includes it in every source
      writeAll({"-isystem", libraryFile("include/r3/without-curand")});
  }

  /// One PTX serves all GPUs of a device link.
  void chooseDeviceLink() {
    Result<NvccArchitectures::Images> Images = Architectures.images(Command.cuda.major);
    if (Images && !Images->newerPtx.empty())
      Command.deviceLinkFlags = {NewerPtx};
  }

  bool isDeviceOnly() const { return Command.phase == NvccPhase::Ptx || Command.phase == NvccPhase::Cubin; }

  void writeInput(const std::string &Path) {
    std::string Wanted = !isSource(Path)          ? ""
                         : !Language.empty()      ? Language
                         : suffixOf(Path) == ".c" ? "c"
                                                  : "";
    if (!Wanted.empty())
      writeAll({"-x", Wanted});
    write(Path);
    if (!Wanted.empty())
      writeAll({"-x", "none"});
  }

  void writeIncludes() {
    if (!hasDeviceSource()) // for CUDA clang does it itself
      writeAll({"-isystem", Command.cuda.include()});
    if (std::string Cccl = Command.cuda.include() + "/cccl"; isFile(Cccl + "/thrust/version.h"))
      writeAll({"-isystem", Cccl});
  }

  void writePhase() {
    if (!PhaseFlag.empty())
      write(PhaseFlag);
    if (Command.phase == NvccPhase::Ptx)
      writeAll({"--offload-device-only", "-S"});
    if (Command.phase == NvccPhase::Cubin)
      writeAll({"--offload-device-only", "-c"});
    chooseOutput();
    if (!Command.output.empty())
      writeAll({"-o", Command.output});
    if (Command.phase == NvccPhase::Program && !Command.inputs.empty())
      writeLibraries();
  }

  void chooseOutput() {
    bool MakesFile = isDeviceOnly() || Command.phase == NvccPhase::Object;
    if (!Command.output.empty() || !MakesFile || Command.inputs.empty())
      return;
    if (OutputDirectory.empty() && !isDeviceOnly())
      return; // clang's own default is nvcc's
    if (Command.inputs.size() > 1)
      return refuse(isDeviceOnly() ? "several sources" : "-odir", "compile one source a command");
    string_view Suffix = Command.phase == NvccPhase::Object ? ".o"
                         : Command.phase == NvccPhase::Ptx  ? ".ptx"
                                                            : string_view(BinarySuffix);
    Command.output = defaultOutput(Command.inputs.front(), Suffix);
    if (!OutputDirectory.empty())
      Command.output = OutputDirectory + '/' + Command.output;
  }

  /// What nvcc adds to a link. The device link happens in any case: objects of -dc need it, others don't
  /// notice.
  void writeLibraries() {
    writeAll(HostLink);
    writeAll({"--offload-link", "-L" + Command.cuda.libraries()});
    if (std::string Stubs = Command.cuda.libraries() + "/stubs"; isFile(Stubs + "/libcuda.so"))
      write("-L" + Stubs);
    if (Runtime == "static")
      writeAll({"-lcudart_static", "-lrt", "-lpthread", "-ldl"});
    if (Runtime == "shared")
      write("-lcudart");
  }

  const Words &Arguments;
  size_t Index = 0;
  std::vector<Word> Body;
  std::string Trouble;
  ClangCommand Command = {NvccPhase::Program, {}, {}, {}, {}, {}, {}, false};

  NvccArchitectures Architectures;
  std::string Language, PhaseFlag, BinarySuffix, OutputDirectory, CudaPath, HostLevel;
  std::string Runtime = "static";
  Words HostCompile, HostLink;
  bool Relocatable = false;
  bool DeviceDebug = false;
  bool Compatible = true;
};

} // namespace

Result<ClangCommand> translateNvcc(const std::vector<std::string> &Arguments) {
  return Translation(Arguments).run();
}

} // namespace r3
