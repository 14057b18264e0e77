// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvcc_options.h"

#include "text.h"

#include <algorithm>
#include <iterator>

namespace r3 {
namespace {

using V = NvccValue;
using A = NvccAction;

constexpr std::string_view NoHostCompiler = "the host compiler is clang";
constexpr std::string_view FrontEnd = "it speaks to nvcc's own front end";
constexpr std::string_view Faster = "it only changes how nvcc runs";

// The text of Write is in clang's words. -Xarch_device and -Xarch_host: nvcc's option is about one side only.
constexpr NvccOption Options[] = {
    // What is made.
    {"compile", "c", V::None, A::Phase, "object"},
    {"device-c", "dc", V::None, A::Phase, "relocatable object"},
    {"device-w", "dw", V::None, A::Phase, "whole object"},
    {"device-link", "dlink", V::None, A::Phase, "device link"},
    {"link", "link", V::None, A::Phase, "program"},
    {"lib", "lib", V::None, A::Phase, "library"},
    {"ptx", "ptx", V::None, A::Phase, "ptx"},
    {"cubin", "cubin", V::None, A::Phase, "cubin"},
    {"fatbin", "fatbin", V::None, A::Phase, "fatbin"},
    {"preprocess", "E", V::None, A::Phase, "-E"},
    {"generate-dependencies", "M", V::None, A::Phase, "-M"},
    {"generate-nonsystem-dependencies", "MM", V::None, A::Phase, "-MM"},
    {"fdevice-syntax-only", "", V::None, A::Phase, "-fsyntax-only"},
    {"cuda", "cuda", V::None, A::Refuse, "clang makes no host source; use -c"},
    {"optix-ir", "", V::None, A::Refuse, "clang makes no OptiX IR; build that file with nvcc"},
    {"ltoir", "", V::None, A::Refuse, "clang makes no NVVM IR; use -dc -dlto"},
    {"run", "run", V::None, A::Refuse, "start the program yourself"},
    {"run-args", "", V::List, A::Refuse, "start the program yourself"},
    {"clean-targets", "clean", V::None, A::Refuse, "remove the files yourself"},
    {"relocatable-link", "r", V::None, A::Write, "-r"},
    {"output-file", "o", V::One, A::Output, ""},
    {"output-directory", "odir", V::One, A::OutputDirectory, ""},
    {"shared", "shared", V::None, A::Write, "-shared"},

    // GPUs and device code.
    {"gpu-architecture", "arch", V::One, A::Architecture, ""},
    {"gpu-code", "code", V::List, A::Code, ""},
    {"generate-code", "gencode", V::One, A::CodeOf, ""},
    {"relocatable-device-code", "rdc", V::Boolean, A::Relocatable, ""},
    {"dlink-time-opt", "dlto", V::None, A::Write, "-foffload-lto"},
    {"lto", "lto", V::None, A::Write, "-foffload-lto"},
    {"gen-opt-lto", "", V::None, A::Drop, "clang's device LTO optimises at the link"},
    {"ptxas-options", "Xptxas", V::Options, A::Write, "-Xcuda-ptxas %"},
    {"maxrregcount", "maxrregcount", V::One, A::Write, "-Xcuda-ptxas --maxrregcount=%"},
    {"resource-usage", "res-usage", V::None, A::Write, "-Xcuda-ptxas -v"},
    {"nvlink-options", "Xnvlink", V::Options, A::Write, "-Xoffload-linker %"},
    {"no-device-link", "nodlink", V::None, A::Refuse, "link with the host compiler instead"},
    {"entries", "e", V::List, A::Refuse, "clang compiles every kernel of a source"},
    {"keep-device-functions", "", V::None, A::Drop, "it is only about code that nothing calls"},
    {"extensible-whole-program", "ewp", V::None, A::Refuse, "use -rdc=true"},
    {"device-stack-protector", "", V::Boolean, A::Drop, "clang's device code has none"},
    {"jump-table-density", "jtd", V::One, A::Drop, "clang chooses by itself"},
    {"relocatable-ptx", "reloc-ptx", V::None, A::Refuse, "use -rdc=true"},
    {"source-in-ptx", "src-in-ptx", V::None, A::Drop, "clang's PTX names lines only"},

    // Debugging and optimisation. nvcc's -O and -g are about the host.
    {"optimize", "O", V::One, A::Optimize, ""},
    {"Ofast-compile", "Ofc", V::One, A::Drop, "clang has no such level"},
    {"dopt", "dopt", V::One, A::Drop, "it undoes what -G does to nvcc"},
    {"debug", "g", V::None, A::Write, "-Xarch_host -g"},
    {"device-debug", "G", V::None, A::DeviceDebug, ""},
    {"generate-line-info", "lineinfo", V::None, A::Write, "-Xarch_device -gline-tables-only"},
    {"optimization-info", "opt-info", V::List, A::Drop, "clang's reports are -Rpass"},
    {"profile", "pg", V::None, A::Write, "-Xarch_host -pg"},
    {"restrict", "restrict", V::None, A::Drop, "clang has no such switch; say __restrict__ in the source"},
    {"extra-device-vectorization", "", V::None, A::Drop, "it only tunes nvcc's optimiser"},

    // Arithmetic of device code.
    {"use_fast_math", "use_fast_math", V::None, A::FastMath, ""},
    {"ftz", "ftz", V::Boolean, A::WriteTrue, "-fgpu-flush-denormals-to-zero"},
    {"prec-div", "prec-div", V::Boolean, A::WriteFalse, "-Xarch_device -mllvm=-nvptx-prec-divf32=1"},
    {"prec-sqrt", "prec-sqrt", V::Boolean, A::WriteFalse, "-Xarch_device -mllvm=-nvptx-prec-sqrtf32=0"},
    {"fmad", "fmad", V::Boolean, A::WriteFalse, "-Xarch_device -ffp-contract=off"},

    // The language.
    {"x", "x", V::One, A::Language, ""},
    {"std", "std", V::One, A::Write, "-std=%"},
    {"expt-extended-lambda", "extended-lambda", V::None, A::Write, "-D__CUDACC_EXTENDED_LAMBDA__"},
    {"expt-relaxed-constexpr", "", V::None, A::Write, "-D__CUDACC_RELAXED_CONSTEXPR__"},
    {"default-stream", "", V::One, A::DefaultStream, ""},
    {"no-exceptions", "noeh", V::None, A::Write, "-Xarch_host -fno-exceptions"},
    {"ftemplate-depth", "", V::One, A::Write, "-ftemplate-depth=%"},
    {"ftemplate-backtrace-limit", "", V::One, A::Write, "-ftemplate-backtrace-limit=%"},
    {"no-host-device-initializer-list", "nohdinitlist", V::None, A::Drop, FrontEnd},
    {"no-host-device-move-forward", "nohdmoveforward", V::None, A::Drop, FrontEnd},
    {"static-global-template-stub", "", V::Boolean, A::Drop, FrontEnd},
    {"device-entity-has-hidden-visibility", "", V::Boolean, A::Drop, FrontEnd},

    // The preprocessor.
    {"define-macro", "D", V::List, A::Write, "-D%"},
    {"undefine-macro", "U", V::List, A::Write, "-U%"},
    {"include-path", "I", V::List, A::Write, "-I%"},
    {"system-include", "isystem", V::List, A::Write, "-isystem %"},
    {"pre-include", "include", V::List, A::Write, "-include %"},
    {"generate-dependencies-with-compile", "MD", V::None, A::Write, "-MD"},
    {"generate-nonsystem-dependencies-with-compile", "MMD", V::None, A::Write, "-MMD"},
    {"generate-dependency-targets", "MP", V::None, A::Write, "-MP"},
    {"dependency-output", "MF", V::One, A::Write, "-MF %"},
    {"dependency-target-name", "MT", V::One, A::Write, "-MT %"},

    // The host compiler and the linker.
    {"compiler-options", "Xcompiler", V::Options, A::HostOptions, ""},
    {"compiler-bindir", "ccbin", V::One, A::HostCompiler, ""},
    {"allow-unsupported-compiler", "", V::None, A::Drop, NoHostCompiler},
    {"forward-unknown-to-host-compiler", "", V::None, A::Drop, "clang gets them anyhow"},
    {"forward-unknown-to-host-linker", "", V::None, A::Drop, "clang gets them anyhow"},
    {"forward-unknown-opts", "", V::None, A::Drop, "clang gets them anyhow"},
    {"linker-options", "Xlinker", V::Options, A::Write, "-Xlinker %"},
    {"archive-options", "Xarchive", V::Options, A::Drop, "ar is called with rcs"},
    {"archiver-binary", "arbin", V::One, A::Drop, "ar is taken from PATH"},
    {"library", "l", V::List, A::Write, "-l%"},
    {"library-path", "L", V::List, A::Write, "-L%"},
    {"cudart", "cudart", V::One, A::Runtime, ""},
    {"cudadevrt", "cudadevrt", V::One, A::Drop, "clang launches no kernels from device code"},
    {"libdevice-directory", "ldir", V::One, A::Refuse, "name the toolkit with --cuda-path"},
    {"target-directory", "target-dir", V::One, A::Refuse, "r3-nvcc compiles for the machine it runs on"},
    {"machine", "m", V::One, A::Drop, "64 bits are all there is"},
    {"m64", "m64", V::None, A::Drop, "64 bits are all there is"},
    {"host-linker-script", "hls", V::One, A::Drop, "clang's device link needs none"},
    {"augment-host-linker-script", "aug-hls", V::None, A::Drop, "clang's device link needs none"},
    {"sanitize", "", V::One, A::Refuse, "run the program under compute-sanitizer"},

    // Diagnostics and nvcc's own affairs.
    {"disable-warnings", "w", V::None, A::Write, "-w"},
    {"Werror", "Werror", V::List, A::Drop, "clang warns of other things than nvcc"},
    {"Wreorder", "", V::None, A::Write, "-Wreorder"},
    {"Wdefault-stream-launch", "", V::None, A::Drop, "clang has no such warning"},
    {"Wmissing-launch-bounds", "", V::None, A::Drop, "clang has no such warning"},
    {"Wext-lambda-captures-this", "", V::None, A::Drop, "clang has no such warning"},
    {"Wno-deprecated-gpu-targets", "", V::None, A::Drop, "clang has no such warning"},
    {"Xcudafe", "Xcudafe", V::Options, A::Drop, FrontEnd},
    {"display-error-number", "err-no", V::None, A::Drop, FrontEnd},
    {"no-display-error-number", "no-err-no", V::None, A::Drop, FrontEnd},
    {"diag-error", "", V::List, A::Drop, FrontEnd},
    {"diag-suppress", "", V::List, A::Drop, FrontEnd},
    {"diag-warn", "", V::List, A::Drop, FrontEnd},
    {"brief-diagnostics", "brief-diag", V::Boolean, A::Drop, FrontEnd},
    {"Xfatbin", "Xfatbin", V::Options, A::Drop, "it only changes how images are packed"},
    {"no-compress", "", V::None, A::Drop, "it only changes how images are packed"},
    {"compress-mode", "", V::One, A::Drop, "it only changes how images are packed"},
    {"threads", "t", V::One, A::Drop, Faster},
    {"split-compile", "", V::One, A::Drop, Faster},
    {"split-compile-extended", "", V::One, A::Drop, Faster},
    {"jobserver", "", V::None, A::Drop, Faster},
    {"objdir-as-tempdir", "objtemp", V::None, A::Drop, Faster},
    {"time", "", V::One, A::Drop, Faster},
    {"fdevice-time-trace", "", V::One, A::Drop, "clang's is -ftime-trace"},
    {"dont-use-profile", "noprof", V::None, A::Drop, Faster},
    {"use-local-env", "", V::None, A::Drop, Faster},
    {"qpp-config", "", V::One, A::Drop, Faster},
    {"compile-as-tools-patch", "astoolspatch", V::None, A::Refuse, "build that file with nvcc"},
    {"options-file", "optf", V::List, A::Refuse, "such a file can't name another; use @FILE"},
    {"frandom-seed", "", V::One, A::Drop, "clang's names come from the source"},
    {"keep", "keep", V::None, A::Write, "-save-temps"},
    {"save-temps", "", V::None, A::Write, "-save-temps"},
    {"keep-dir", "", V::One, A::Drop, "clang keeps temporary files in the working directory"},
    {"dryrun", "dryrun", V::None, A::Write, "-###"},
    {"verbose", "v", V::None, A::Verbose, ""},
    {"version", "V", V::None, A::Toolkit, ""},
    {"help", "h", V::None, A::Toolkit, ""},
    {"list-gpu-code", "code-ls", V::None, A::Toolkit, ""},
    {"list-gpu-arch", "arch-ls", V::None, A::Toolkit, ""},

    // R3's own, and clang's where r3-nvcc must know the value.
    {"cuda-path", "", V::One, A::CudaPath, ""},
    {"r3-no-compat", "", V::None, A::NoCompatibility, ""},
    {"r3-compat", "", V::None, A::Compatibility, ""},
};

const NvccOption *findByName(std::string_view Name) {
  auto Found = std::find_if(std::begin(Options), std::end(Options), [&](const NvccOption &Option) {
    return Option.longName == Name || (!Option.shortName.empty() && Option.shortName == Name);
  });
  return Found == std::end(Options) ? nullptr : Found;
}

/// -Ipath, -DNAME, -lm, -O3: one letter, and the value without a space.
std::optional<FoundOption> findJoined(std::string_view Argument) {
  constexpr std::string_view Letters = "IDULlO";
  if (Argument.size() < 3 || Argument[1] == '-' || Letters.find(Argument[1]) == std::string_view::npos)
    return std::nullopt;
  return FoundOption{findByName(Argument.substr(1, 1)), std::string(Argument.substr(2))};
}

} // namespace

std::optional<FoundOption> findNvccOption(const std::string &Argument) {
  if (Argument.size() < 2 || Argument[0] != '-')
    return std::nullopt;
  size_t Equals = Argument.find('=');
  size_t Start = Argument[1] == '-' ? 2 : 1;
  std::string Name = Argument.substr(Start, Equals == std::string::npos ? Equals : Equals - Start);
  const NvccOption *Option = findByName(Name);
  if (!Option)
    return findJoined(Argument);
  if (Equals == std::string::npos)
    return FoundOption{Option, std::nullopt};
  if (Option->takes == NvccValue::None)
    return std::nullopt;
  return FoundOption{Option, Argument.substr(Equals + 1)};
}

} // namespace r3
