// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One kernel out of a module, such that it computes what it computed there.
#ifndef R3_PASSES_REPLAY_EXTRACT_H
#define R3_PASSES_REPLAY_EXTRACT_H

#include "replay/module.h"
#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"

namespace r3 {

/// The module holds that kernel alone.
llvm::Expected<KernelModule> loadKernelAlone(llvm::ArrayRef<uint8_t> Bitcode, llvm::StringRef Kernel,
                                             llvm::LLVMContext &Context);

/// Bitcode of the module with that kernel alone.
llvm::Expected<Product> extractKernel(llvm::ArrayRef<uint8_t> Bitcode, const KernelRequest &Request);

/// Takes everything out of M that Kernel cannot reach. What other kernels or the host write stays a variable
/// that nobody may fold, under the name that it has in the whole module's code; all host-writable constants
/// stay, in order, because their offsets are in the code.
void keepOnly(llvm::Module &M, llvm::Function &Kernel);

/// Takes everything out of M that is not in Kept, which must be closed under reaching.
void removeAllBut(llvm::Module &M, const GlobalSet &Kept);

} // namespace r3

#endif
