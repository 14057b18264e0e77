// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_TRIM_H
#define R3_PASSES_CPU_TRIM_H

#include "llvm/IR/Module.h"

namespace r3::cpu {

/// Prepares a device module for the host: answers __nvvm_reflect, drops the bodies of device math that the
/// host's own replaces, removes what no kernel reaches (variables that host code may name stay), and turns
/// constant expressions over shared arrays into instructions.
void trimDeviceModule(llvm::Module &Device);

} // namespace r3::cpu

#endif
