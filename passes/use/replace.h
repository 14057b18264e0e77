// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Puts a kernel that was optimised on its own back into its module.
#ifndef R3_USE_REPLACE_H
#define R3_USE_REPLACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/GlobalValue.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Function;
class GlobalVariable;
class Module;
} // namespace llvm

namespace r3 {

/// Variables that a tuned kernel shares with the rest of its module, held as they were at pipeline start. A
/// kernel optimised on its own knows them by their captured names and types, so the module's own pipeline
/// must not fold, split or drop them.
class HeldVariables {
public:
  /// Holds what Kernel can reach, until release. The name becomes the one that PTX can spell, as in the
  /// extracted module.
  void hold(llvm::Module &M, const llvm::Function &Kernel);

  void release(llvm::Module &M);

private:
  struct Variable {
    std::string name;
    llvm::GlobalValue::LinkageTypes linkage;
    llvm::GlobalValue::UnnamedAddr unnamedAddr;
    bool externallyInitialized;
  };

  std::vector<Variable> Held;
};

/// Linkage of what a tuned kernel alone calls.
enum class ClosureLinkage {
  AsValidated, ///< the assembler inlines what it sees to be private, and must do as it did when it was judged
  Internal     ///< for relocatable code, where names of several units meet
};

/// Replaces the body and the attributes of Kernel by those of its namesake in Optimised (bitcode of the
/// extracted and optimised module), and brings along what that calls, under names of its own.
/// Variables are M's, except for immutable data and shared memory that M's pipeline has changed: of those
/// Optimised has its own.
llvm::Error replaceKernel(llvm::Module &M, llvm::StringRef Kernel, llvm::ArrayRef<uint8_t> Optimised,
                          ClosureLinkage Linkage);

/// Adds the kernel of Optimised to M under the name Version, beside M's own Kernel.
llvm::Error addVersion(llvm::Module &M, llvm::StringRef Kernel, llvm::StringRef Version,
                       llvm::ArrayRef<uint8_t> Optimised, ClosureLinkage Linkage);

} // namespace r3

#endif
