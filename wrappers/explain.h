// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --r3-explain: what would this command do? Nothing is compiled.
#ifndef R3_WRAPPERS_EXPLAIN_H
#define R3_WRAPPERS_EXPLAIN_H

#include "compiler.h"

#include <string>
#include <vector>

namespace r3 {

/// The command without --r3-explain, or nothing if the option isn't there.
std::vector<std::string> withoutExplain(const std::vector<std::string> &User);

/// Prints the compiler, the plugin, how the command is classified and what would be added, and ends the
/// program.
[[noreturn]] void explain(const std::string &Compiler, Driver Mode, const std::vector<std::string> &User);

} // namespace r3

#endif
