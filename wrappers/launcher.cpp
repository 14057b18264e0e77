// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "launcher.h"

#include "capture.h"
#include "process.h"
#include "programs.h"

#include <algorithm>
#include <array>
#include <cstdlib>

namespace r3 {
namespace {

bool isCompilerCache(const std::string &Program) {
  constexpr std::array<const char *, 4> Caches = {"ccache", "sccache", "distcc", "icecc"};
  return std::find(Caches.begin(), Caches.end(), baseName(Program)) != Caches.end();
}

/// A cache must not give out objects that another plugin or another profile made: their content becomes part
/// of the key.
void nameExtraFiles() {
  std::string Ours = libraryFile("libR3Passes.so");
  if (std::string Profile = environment("R3_USE"); isFile(Profile))
    Ours += ':' + realPath(Profile);
  for (const char *Variable : {"CCACHE_EXTRAFILES", "SCCACHE_EXTRAFILES"}) {
    std::string Files = environment(Variable);
    setenv(Variable, (Files.empty() ? Ours : Files + ':' + Ours).c_str(), 1);
  }
}

std::string resolve(const std::string &Name) {
  std::string Path = findOnPath(Name);
  if (Path.empty())
    fail("r3-launch was to run '" + Name + "', which is no program on PATH");
  return Path;
}

} // namespace

void launch(const std::vector<std::string> &Command) {
  auto Compiler = std::find_if_not(Command.begin(), Command.end(), isCompilerCache);
  if (Compiler == Command.end())
    fail("r3-launch needs a command: r3-launch clang++ -c kernel.cu");
  std::vector<std::string> User(Compiler + 1, Command.end()); // --r3-use=FILE is in the environment by now
  std::vector<std::string> Flags = captureFlags(resolve(*Compiler), driverFor(*Compiler), User);
  if (!Flags.empty() && Compiler != Command.begin())
    nameExtraFiles();
  std::vector<std::string> Arguments(Command.begin() + 1, Command.end());
  // Right behind the compiler's name: the user's flags still win.
  Arguments.insert(Arguments.begin() + (Compiler - Command.begin()), Flags.begin(), Flags.end());
  become(resolve(Command.front()), Arguments);
}

} // namespace r3
