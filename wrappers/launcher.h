// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_LAUNCHER_H
#define R3_WRAPPERS_LAUNCHER_H

#include <string>
#include <vector>

namespace r3 {

/// r3-launch COMPILER ARGUMENTS…, as CMAKE_<LANG>_COMPILER_LAUNCHER calls it: becomes that compiler, with
/// R3's flags if it is a clang that takes them. Compiler caches may stand in front of the compiler.
[[noreturn]] void launch(const std::vector<std::string> &Command);

} // namespace r3

#endif
