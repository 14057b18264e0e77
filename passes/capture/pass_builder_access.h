// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pass plugin is handed clang's PassBuilder, which holds the target machine and the pipeline's tuning
// options, but has no accessors for them. They are facts that the IR lacks; reading them here beats
// re-deriving them from flags.
#ifndef R3_CAPTURE_PASS_BUILDER_ACCESS_H
#define R3_CAPTURE_PASS_BUILDER_ACCESS_H

#include "llvm/Passes/PassBuilder.h"

namespace r3 {

/// Null where the pipeline is built for no target.
llvm::TargetMachine *targetMachine(const llvm::PassBuilder &Builder);
const llvm::PipelineTuningOptions &tuningOptions(const llvm::PassBuilder &Builder);

} // namespace r3

#endif
