// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_link.h"

#include "process.h"
#include "programs.h"
#include "text.h"
#include "text_file.h"

#include <cstdlib>

namespace r3 {
namespace {

/// The program beside the compiler.
std::string sibling(const std::string &Compiler, const std::string &Name) {
  for (const std::string &Folder : {directoryOf(Compiler), directoryOf(realPath(Compiler))})
    if (std::string Path = Folder + '/' + Name; isProgram(Path))
      return Path;
  return findOnPath(Name);
}

/// clang's linker wrapper names the object of a device image so.
bool isRegistration(const std::string &Path) {
  return baseName(Path).find(".image.wrapper") != std::string::npos;
}

} // namespace

void linkDeviceCode(const std::string &Compiler, const ClangCommand &Command) {
  std::string Wrapper = sibling(Compiler, "clang-linker-wrapper");
  if (Wrapper.empty())
    fail("-dlink needs clang-linker-wrapper, which isn't beside " + Compiler + "; install clang-tools-22");
  std::vector<std::string> Arguments = {"--cuda-path=" + Command.cuda.root,
                                        "--host-triple=x86_64-pc-linux-gnu",
                                        "--device-compiler=-O3",
                                        "--linker-path=" + libraryFile(KeepRegistrationProgram),
                                        "--",
                                        "-o",
                                        Command.output.empty() ? "a_dlink.o" : Command.output};
  Arguments.insert(Arguments.end(), Command.inputs.begin(), Command.inputs.end());
  become(Wrapper, Arguments);
}

int keepRegistration(const std::vector<std::string> &LinkerArguments) {
  std::string Output;
  std::vector<std::string> Objects = {"-r", "-o"};
  for (size_t Index = 0; Index < LinkerArguments.size(); ++Index) {
    if (LinkerArguments[Index] == "-o" && Index + 1 < LinkerArguments.size())
      Output = LinkerArguments[++Index];
    else if (isRegistration(LinkerArguments[Index]))
      Objects.push_back(LinkerArguments[Index]);
  }
  Objects.insert(Objects.begin() + 2, Output);
  if (Objects.size() == 3)
    fail("-dlink found no relocatable device code; compile with -dc or -rdc=true");
  std::string Linker = findOnPath("ld");
  if (Linker.empty())
    fail("-dlink needs ld, which isn't on PATH; install binutils");
  return runAndWait(Linker, Objects);
}

} // namespace r3
