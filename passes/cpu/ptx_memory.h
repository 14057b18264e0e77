// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inline PTX that reads, writes and orders memory, as CUDA's headers, CUB and libcu++ spell it.
#ifndef R3_PASSES_CPU_PTX_MEMORY_H
#define R3_PASSES_CPU_PTX_MEMORY_H

#include "cpu/emitters.h"

namespace r3::cpu {

/// What takes the place of a call of the text `Text`, which is one line; nothing if it is none of these.
Emitted rewriteMemoryText(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Text);

} // namespace r3::cpu

#endif
