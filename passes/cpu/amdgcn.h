// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_AMDGCN_H
#define R3_PASSES_CPU_AMDGCN_H

#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

namespace r3::cpu {

/// Prepares a module of HIP for AMD for the host: functions with wave operations are inlined, so that each
/// call of one is a place of its own; atomics and fences have one scope; bodies that need AMD's runtime go.
/// R3_UNSUPPORTED for a code object version whose hidden arguments the engine does not write.
llvm::Error prepareAmdgcn(llvm::Module &Device);

/// Threads a wave that the module was compiled for: 32 or 64.
unsigned waveSize(const llvm::Module &Device);

/// Most threads a block by "amdgpu-flat-work-group-size".
uint32_t largestGroup(const llvm::Function &Kernel);

} // namespace r3::cpu

#endif
