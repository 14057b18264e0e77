// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the wrapper must know of a command: does it make an object with device code? Nothing else is read from
// it.
#ifndef R3_WRAPPERS_COMMAND_LINE_H
#define R3_WRAPPERS_COMMAND_LINE_H

#include <string>
#include <vector>

namespace r3 {

/// Arguments with every @file replaced by its content, as clang does it: nested, both quotes, backslashes; a
/// file that can't be read stays literal. For classification and for the record only: the compiler gets
/// @file.
std::vector<std::string> expandResponseFiles(const std::vector<std::string> &Arguments);

/// The arguments as they are, unless one of R3's own options stands in a response file, where clang would
/// refuse it: then they are expanded.
std::vector<std::string> withOwnOptionsInSight(const std::vector<std::string> &Arguments);

/// Whether a driver command compiles device code and host code of a CUDA or HIP source into an object. Takes
/// expanded arguments without the program's name.
bool compilesDeviceCode(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
