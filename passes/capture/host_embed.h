// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Host side: puts the device modules of a source into its object (docs/binary-format.md).
#ifndef R3_CAPTURE_HOST_EMBED_H
#define R3_CAPTURE_HOST_EMBED_H

#include "llvm/IR/PassManager.h"

namespace r3 {

/// Adds globals to .r3.bitcode, .r3.json and .note.r3, and changes nothing else of the module.
class HostEmbed : public llvm::PassInfoMixin<HostEmbed> {
public:
  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }
};

} // namespace r3

#endif
