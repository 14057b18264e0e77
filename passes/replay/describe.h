// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// r3_describe: the description in a binary's JSON, and per kernel what replay and tuning need to know of it.
#ifndef R3_PASSES_REPLAY_DESCRIBE_H
#define R3_PASSES_REPLAY_DESCRIBE_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace r3 {

llvm::Expected<Product> describeBitcode(llvm::ArrayRef<uint8_t> Bitcode);

/// The same of one kernel, and of all globals: what other kernels take to analyse isn't spent.
llvm::Expected<Product> describeKernel(llvm::ArrayRef<uint8_t> Bitcode, const KernelRequest &Request);

} // namespace r3

#endif
