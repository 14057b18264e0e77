// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules of libraries that the program has loaded by itself, and which nobody has compiled beforehand.
#ifndef R3CPU_CUDART_LATE_MODULES_H
#define R3CPU_CUDART_LATE_MODULES_H

#include <string>

namespace r3::cpu::cudart {

/// Lets R3 compile the modules of a loaded library into R3_CPU_MODULES, and waits. Does nothing where no R3
/// is there to do it (R3_CPU_COMPILE is not set); what is wrong with a module is said on standard error.
void compileModulesOf(const std::string &library);

} // namespace r3::cpu::cudart

#endif
