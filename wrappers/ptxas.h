// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// ptxas flags of a profile: one ptxas makes a unit's machine code, so they hold for the whole unit. Which
// unit has some is known only once clang compiles it, so that a program of ours stands between clang and
// ptxas.
#ifndef R3_WRAPPERS_PTXAS_H
#define R3_WRAPPERS_PTXAS_H

#include <string>
#include <vector>

namespace r3 {

constexpr const char *PtxasProgram = "r3-ptxas";

/// The flag that puts r3-ptxas in ptxas' place, if the profile asks for ptxas flags at all and the user has
/// not chosen a ptxas.
std::vector<std::string> ptxasFlags(const std::string &Profile, const std::vector<std::string> &Expanded);

/// Becomes ptxas, with the flags that its input names in place of those that it was given.
[[noreturn]] void runPtxas(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
