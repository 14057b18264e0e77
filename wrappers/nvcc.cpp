// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvcc.h"

#include "capture.h"
#include "command_line.h"
#include "device_link.h"
#include "nvcc_command.h"
#include "nvcc_trace.h"
#include "process.h"
#include "profile.h"
#include "programs.h"
#include "text.h"

#include <cstdio>
#include <cstdlib>

namespace r3 {
namespace {

using Words = std::vector<std::string>;

void append(Words &Out, const Words &More) { Out.insert(Out.end(), More.begin(), More.end()); }

/// -optf FILE and --options-file=FILE are @FILE.
Words withOptionFiles(const Words &Arguments) {
  Words Out;
  for (size_t Index = 0; Index < Arguments.size(); ++Index) {
    const std::string &Argument = Arguments[Index];
    bool IsName = Argument == "-optf" || Argument == "--options-file";
    if (IsName && Index + 1 < Arguments.size())
      Out.push_back('@' + Arguments[++Index]);
    else if (startsWith(Argument, "--options-file=") || startsWith(Argument, "-optf="))
      Out.push_back('@' + Argument.substr(Argument.find('=') + 1));
    else
      Out.push_back(Argument);
  }
  return Out;
}

/// The command with what nvcc takes from the environment.
Words completeCommand(const Words &Arguments) {
  Words Complete = splitWords(environment("NVCC_PREPEND_FLAGS"));
  append(Complete, Arguments);
  append(Complete, splitWords(environment("NVCC_APPEND_FLAGS")));
  return expandResponseFiles(withOptionFiles(Complete));
}

/// The toolkit's own nvcc, also behind a folder of links to the toolkit in which nvcc is this program.
std::string nvccOf(const CudaTree &Cuda) {
  std::string Behind = directoryOf(directoryOf(realPath(Cuda.include() + "/cuda_runtime.h")));
  for (const std::string &Root : {Cuda.root, Behind})
    if (std::string Nvcc = Root + "/bin/nvcc"; isProgram(Nvcc) && !isSameFile(Nvcc, ownPath()))
      return Nvcc;
  return "";
}

[[noreturn]] void answerAsToolkit(const CudaTree &Cuda, const Words &Arguments) {
  if (std::string Nvcc = nvccOf(Cuda); !Nvcc.empty())
    become(Nvcc, Arguments);
  // CMake looks for nvcc's own words.
  std::printf("r3-nvcc: clang with the command line of nvcc: NVIDIA (R) Cuda compiler driver\nCuda "
              "compilation tools, release %d.%d, V%d.%d.0\n",
              Cuda.major, Cuda.minor, Cuda.major, Cuda.minor);
  std::exit(0);
}

[[noreturn]] void archive(const ClangCommand &Command) {
  for (const std::string &Input : Command.inputs)
    if (!endsWith(Input, ".o") && !endsWith(Input, ".obj"))
      fail("r3-nvcc -lib takes objects only; compile " + Input + " first");
  std::string Ar = findOnPath("ar");
  if (Ar.empty())
    fail("-lib needs ar, which isn't on PATH; install binutils");
  Words Arguments = {"rcs", Command.output.empty() ? "a.a" : Command.output};
  append(Arguments, Command.inputs);
  become(Ar, Arguments);
}

[[noreturn]] void compile(const std::string &Compiler, const ClangCommand &Command) {
  Words Arguments = captureFlags(Compiler, Driver::CXX, Command.arguments);
  append(Arguments, Command.arguments);
  become(Compiler, Arguments);
}

} // namespace

void runNvcc(const Words &Arguments) {
  Result<ClangCommand> Command = translateNvcc(withProfile(completeCommand(Arguments)));
  if (!Command)
    fail(Command.problem());
  if (Command->verbose)
    for (const std::string &Note : Command->notes)
      say("note: " + Note);
  if (Command->phase == NvccPhase::Toolkit)
    answerAsToolkit(Command->cuda, Arguments);
  if (Command->phase == NvccPhase::Library)
    archive(*Command);
  Result<std::string> Compiler = findCompiler(Driver::CXX);
  if (!Compiler)
    fail(Compiler.problem());
  if (Command->verbose)
    std::fputs(nvccTrace(*Compiler, *Command).c_str(), stderr);
  if (Command->phase == NvccPhase::DeviceLink)
    linkDeviceCode(*Compiler, *Command);
  compile(*Compiler, *Command);
}

} // namespace r3
