// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_CAPTURE_STATIC_VARIABLES_H
#define R3_CAPTURE_STATIC_VARIABLES_H

#include "capture/handoff_file.h"

namespace llvm {
class Module;
}

namespace r3 {

/// Whether the command asks for what nvcc accepts and clang does not (r3-nvcc, --r3-compat).
bool asksForCompatibility(const UserCommand &User);

/// With -fgpu-rdc clang gives a static variable that host code names an external name with the unit's id, but
/// code that it has made before it met the host's use declares the variable by its plain name, which nothing
/// defines: the device link fails. Makes one variable of each such pair.
void joinStaticVariables(llvm::Module &M);

} // namespace r3

#endif
