// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the host code's registration with the CUDA or HIP runtime.
#ifndef R3_USE_REGISTRATION_H
#define R3_USE_REGISTRATION_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Constant;
class Module;
} // namespace llvm

namespace r3 {

/// Registers the device code Name as one more kernel, wherever the kernel of Key, which the host code
/// launches by that address, is registered. Returns the new kernel's own key; null where Key's registration
/// isn't found.
llvm::Constant *registerBeside(llvm::Module &Host, llvm::Constant &Key, llvm::StringRef Name);

} // namespace r3

#endif
