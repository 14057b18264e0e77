// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_INLINE_ASM_H
#define R3_PASSES_CPU_INLINE_ASM_H

#include "cpu/emitters.h"

#include "llvm/IR/InlineAsm.h"

namespace r3::cpu {

/// Host code for the few inline PTX texts that read one special register ("mov.u32 $0, %laneid;"), that
/// CUDA's own headers hold (dp4a), or that do nothing. Nothing for any other.
Emitted emitInlineAsm(llvm::IRBuilder<> &, llvm::CallInst &, const llvm::InlineAsm &);

} // namespace r3::cpu

#endif
