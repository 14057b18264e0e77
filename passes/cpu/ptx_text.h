// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_PTX_TEXT_H
#define R3_PASSES_CPU_PTX_TEXT_H

#include "llvm/IR/Module.h"

namespace r3::cpu {

/// Replaces the inline PTX that CUB holds (read-only and relaxed loads and stores, clamped shifts, bit masks,
/// shuffles) by device IR that means the same. Leaves any other text as it is.
void rewritePtxText(llvm::Module &Device);

} // namespace r3::cpu

#endif
