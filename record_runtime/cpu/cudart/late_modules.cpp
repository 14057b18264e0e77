// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "late_modules.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace r3::cpu::cudart {
namespace {

// The environment without what R3 preloads into the program, whose recorder shall not follow.
std::vector<char *> ownEnvironment() {
  constexpr const char *Preload = "LD_PRELOAD=";
  std::vector<char *> variables;
  for (char **variable = environ; *variable; ++variable)
    if (std::strncmp(*variable, Preload, std::strlen(Preload)) != 0)
      variables.push_back(*variable);
  variables.push_back(nullptr);
  return variables;
}

} // namespace

void compileModulesOf(const std::string &library) {
  const char *python = std::getenv("R3_CPU_COMPILE");
  const char *folder = std::getenv("R3_CPU_MODULES");
  if (!python || !*python || !folder)
    return;
  std::vector<std::string> words = {python, "-m", "r3cc.record.late_modules", library, folder};
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (posix_spawn(&child, python, nullptr, nullptr, arguments.data(), ownEnvironment().data()) != 0)
    return;
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) // the program's signals go on
    ;
  // Whoever looks for the modules sees what came of it.
}

} // namespace r3::cpu::cudart
