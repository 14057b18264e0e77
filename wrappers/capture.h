// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What R3 adds to a command of clang.
#ifndef R3_WRAPPERS_CAPTURE_H
#define R3_WRAPPERS_CAPTURE_H

#include "compiler.h"

#include <string>
#include <vector>

namespace r3 {

/// The flags that put the device code's IR into the object, and the hand-off that they need in the
/// environment; none for a command that makes no object with device code. Of a link of relocatable device
/// code those that bring in units of archives which would bring none by themselves. Whatever is wrong with R3
/// costs one warning and gives no flags; R3_STRICT=1 makes it an error.
std::vector<std::string> captureFlags(const std::string &Compiler, Driver Mode,
                                      const std::vector<std::string> &User);

} // namespace r3

#endif
