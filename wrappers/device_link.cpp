// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_link.h"

#include "archives.h"
#include "process.h"
#include "programs.h"
#include "text.h"
#include "text_file.h"

#include <algorithm>
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

/// The archives of a command's -l that are there; the device link knows no other libraries.
std::vector<std::string> archivesByName(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Found = archivesOf(Arguments);
  auto IsInput = [&](const std::string &Path) {
    return !isFile(Path) || std::find(Arguments.begin(), Arguments.end(), Path) != Arguments.end();
  };
  Found.erase(std::remove_if(Found.begin(), Found.end(), IsInput), Found.end());
  return Found;
}

} // namespace

void linkDeviceCode(const std::string &Compiler, const ClangCommand &Command) {
  std::string Wrapper = sibling(Compiler, "clang-linker-wrapper");
  if (Wrapper.empty())
    fail("-dlink needs clang-linker-wrapper, which isn't beside " + Compiler + "; install clang-tools-22");
  std::vector<std::string> Arguments = {"--cuda-path=" + Command.cuda.root,
                                        "--host-triple=x86_64-pc-linux-gnu", "--device-compiler=-O3",
                                        "--linker-path=" + libraryFile(KeepRegistrationProgram)};
  for (const std::string &Flag : Command.deviceLinkFlags)
    Arguments.push_back("--device-compiler=" + Flag);
  Arguments.insert(Arguments.end(), {"--", "-o", Command.output.empty() ? "a_dlink.o" : Command.output});
  std::vector<std::string> Inputs = Command.inputs;
  for (std::string &Archive : archivesByName(Command.arguments))
    Inputs.push_back(std::move(Archive));
  Arguments.insert(Arguments.end(), Inputs.begin(), Inputs.end());
  for (const std::string &Unit : deviceUnits(archivesOf(Inputs)))
    Arguments.insert(Arguments.end(), {"-u", Unit});
  become(Wrapper, Arguments);
}

int keepRegistration(const std::vector<std::string> &LinkerArguments) {
  std::string Output;
  std::vector<std::string> Objects, Arguments = {"-r"};
  for (size_t Index = 0; Index < LinkerArguments.size(); ++Index) {
    if (LinkerArguments[Index] == "-o" && Index + 1 < LinkerArguments.size())
      Output = LinkerArguments[++Index];
    else if (LinkerArguments[Index] == "-u" && Index + 1 < LinkerArguments.size())
      // Stays undefined in the object, so that the host's linker takes the unit out of its archive.
      Arguments.insert(Arguments.end(), {"-u", LinkerArguments[++Index]});
    else if (isRegistration(LinkerArguments[Index]))
      Objects.push_back(LinkerArguments[Index]);
  }
  if (Objects.empty())
    fail("-dlink found no relocatable device code; compile with -dc or -rdc=true");
  std::string Linker = findOnPath("ld");
  if (Linker.empty())
    fail("-dlink needs ld, which isn't on PATH; install binutils");
  Arguments.insert(Arguments.end(), {"-o", Output});
  Arguments.insert(Arguments.end(), Objects.begin(), Objects.end());
  return runAndWait(Linker, Arguments);
}

} // namespace r3
