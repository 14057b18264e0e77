// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Code twice, and a condition that chooses.
#ifndef R3_PASSES_REPLAY_GUARDED_COPY_H
#define R3_PASSES_REPLAY_GUARDED_COPY_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

namespace r3 {

/// Makes a copy of all that Block dominates, from its first instruction on (behind phis, and in an entry
/// block behind stack slots), and a branch before both that takes the copy where the value that WriteGuard
/// makes is true. Returns the copied blocks; Copies maps what they were made from to what they hold.
llvm::SmallVector<llvm::BasicBlock *, 16>
copyGuarded(llvm::BasicBlock &Block, llvm::ValueToValueMapTy &Copies,
            llvm::function_ref<llvm::Value *(llvm::IRBuilderBase &)> WriteGuard);

} // namespace r3

#endif
