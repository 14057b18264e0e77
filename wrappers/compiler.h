// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The real compiler behind the wrapper, and R3's plugin for it.
#ifndef R3_WRAPPERS_COMPILER_H
#define R3_WRAPPERS_COMPILER_H

#include "result.h"

#include <string>

namespace r3 {

enum class Driver { C, CXX };

/// r3-clang++ and whatever else ends in "++", with or without a version, is the C++ driver.
Driver driverFor(const std::string &ProgramName);

/// R3_CLANG, else the compiler found when R3 was built, else clang on PATH; never this wrapper itself.
Result<std::string> findCompiler(Driver Wanted);

/// The plugin that lies beside this wrapper (or under R3_PREFIX), if it fits Compiler's LLVM.
Result<std::string> findPlugin(const std::string &Compiler);

} // namespace r3

#endif
