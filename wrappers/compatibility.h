// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header with what nvcc accepts and clang doesn't.
#ifndef R3_WRAPPERS_COMPATIBILITY_H
#define R3_WRAPPERS_COMPATIBILITY_H

#include <string>
#include <vector>

namespace r3 {

/// What makes clang read the header before every source; nothing where R3 is installed without it.
std::vector<std::string> compatibilityFlags();

/// A command of r3-clang++ with --r3-compat replaced by compatibilityFlags(), and without --r3-no-compat.
std::vector<std::string> withCompatibility(const std::vector<std::string> &User);

} // namespace r3

#endif
