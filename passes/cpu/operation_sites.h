// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operations that find their partners by the place of their call must have a place for each use.
#ifndef R3_PASSES_CPU_OPERATION_SITES_H
#define R3_PASSES_CPU_OPERATION_SITES_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

namespace r3::cpu {

/// Inlines the functions that get to such a call, so that the calls that remain stand in kernels.
void inlineOperationSites(llvm::Module &M, llvm::function_ref<bool(const llvm::CallInst &)> FindsPartners);

/// The calls that ask which lanes are active, in an NVPTX module.
bool asksForActiveLanes(const llvm::CallInst &Call);

} // namespace r3::cpu

#endif
