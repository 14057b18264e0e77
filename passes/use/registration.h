// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the host code's registration with the CUDA or HIP runtime.
#ifndef R3_USE_REGISTRATION_H
#define R3_USE_REGISTRATION_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <optional>

namespace llvm {
class CallBase;
class Constant;
class GlobalVariable;
class Module;
} // namespace llvm

namespace r3 {

/// Where the runtime is told of a kernel.
struct Registration {
  llvm::Constant *key;                          ///< the address by which the host code launches it
  llvm::SmallVector<llvm::CallBase *, 1> calls; ///< at start, without relocatable device code
  llvm::GlobalVariable *entry; ///< else: in the table that the device link makes the registration of
};

/// Nothing where the host code registers no kernel of this mangled device name.
std::optional<Registration> registrationOf(llvm::Module &Host, llvm::StringRef Kernel);

/// Registers the device code Name as one more kernel wherever Known is. Returns the new kernel's own key.
llvm::Constant *registerBeside(llvm::Module &Host, const Registration &Known, llvm::StringRef Name);

} // namespace r3

#endif
