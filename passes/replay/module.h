// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Modules and kernels as the replay compiler sees them.
#ifndef R3_PASSES_REPLAY_MODULE_H
#define R3_PASSES_REPLAY_MODULE_H

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Error.h"

#include <memory>

namespace r3 {

using GlobalSet = llvm::SetVector<llvm::GlobalValue *>;

/// R3_BAD_BITCODE if the bytes are not a module that this LLVM reads and verifies.
llvm::Expected<std::unique_ptr<llvm::Module>> loadModule(llvm::ArrayRef<uint8_t> Bitcode,
                                                         llvm::LLVMContext &Context);

llvm::SmallVector<char, 0> writeModule(const llvm::Module &M);

/// A module and one of its kernels.
struct KernelModule {
  std::unique_ptr<llvm::Module> M;
  llvm::Function *Kernel;
};

/// As loadModule; R3_BAD_KERNEL if the module has no entry function of that name.
llvm::Expected<KernelModule> loadKernel(llvm::ArrayRef<uint8_t> Bitcode, llvm::StringRef Name,
                                        llvm::LLVMContext &Context);

/// All that Roots can reach through code and initialisers, Roots included. A closure that calls through a
/// pointer also reaches every function whose address the module takes.
GlobalSet reachableFrom(llvm::Module &M, llvm::ArrayRef<llvm::GlobalValue *> Roots);

} // namespace r3

#endif
