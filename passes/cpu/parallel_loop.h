// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_PARALLEL_LOOP_H
#define R3_PASSES_CPU_PARALLEL_LOOP_H

#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

namespace r3::cpu {

/// Puts the calls in `Loop` into it and tells LLVM which memory accesses of different threads do not depend
/// on one another.
///
/// Threads of a block without barriers, fences and atomics are unordered, so their accesses to common memory
/// are free of dependences in any correct program. Only a thread's own variables, which all iterations share
/// once they are inlined, are not: SROA removes them first, and what is left of them is not marked.
void markParallel(llvm::Function &Entry, llvm::BranchInst &Latch);

} // namespace r3::cpu

#endif
