// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What turns a captured module into the build's own code: replay at these values gives clang's PTX.
#ifndef R3_CAPTURE_CODEGEN_FACTS_H
#define R3_CAPTURE_CODEGEN_FACTS_H

#include "capture/cc1_command.h"

#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"

namespace r3 {

/// The object `codegen` of docs/binary-format.md.
llvm::json::Object codegenFacts(const llvm::TargetMachine &Machine, const llvm::PipelineTuningOptions &Tuning,
                                llvm::OptimizationLevel Level, const Cc1Command &Cc1,
                                const std::vector<std::string> &UserArguments);

} // namespace r3

#endif
