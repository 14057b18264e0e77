// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernel digest: how a profile finds its kernel again after an edit elsewhere.
#ifndef R3_PASSES_DIGEST_KERNEL_DIGEST_H
#define R3_PASSES_DIGEST_KERNEL_DIGEST_H

#include "llvm/IR/Module.h"

#include <string>

namespace r3 {

/// SHA-256, in hex, of the canonical text of what Kernel can reach: no debug information, no names of
/// functions, local values, types or immutable data, no unit ids, nothing unrelated, in the order of
/// reaching; nothing of where an assertion stands. Variables that somebody can write keep their names,
/// because which one it is matters. Kernels of equal code have equal digests. M is taken apart: its closure
/// of Kernel alone is left, renamed.
std::string kernelDigest(llvm::Module &M, llvm::Function &Kernel);

} // namespace r3

#endif
