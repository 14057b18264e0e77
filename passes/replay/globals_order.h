// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed order of globals for code generation.
#ifndef R3_PASSES_REPLAY_GLOBALS_ORDER_H
#define R3_PASSES_REPLAY_GLOBALS_ORDER_H

#include "llvm/IR/Module.h"

namespace r3 {

/// LLVM 22's NVPTX printer walks the references between globals through hash sets of pointers, so their order
/// in the PTX, and with it the constant bank's layout, changes from run to run. Puts each variable behind
/// those that its initialiser names, in source order otherwise, and drops the used lists, whose initialisers
/// name everything.
void fixGlobalsOrder(llvm::Module &M);

} // namespace r3

#endif
