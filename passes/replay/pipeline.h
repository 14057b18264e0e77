// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pass pipelines: built as clang builds them, parsed from text, printed.
#ifndef R3_PASSES_REPLAY_PIPELINE_H
#define R3_PASSES_REPLAY_PIPELINE_H

#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Passes/StandardInstrumentations.h"
#include "llvm/Target/TargetMachine.h"

namespace r3 {

/// A pass builder with its analysis managers, set up for one target as clang sets them up.
class PipelineBuilder {
public:
  PipelineBuilder(llvm::LLVMContext &Context, llvm::TargetMachine &Machine,
                  llvm::PipelineTuningOptions Tuning = {});

  /// R3_BAD_PIPELINE with the column of what LLVM does not know.
  llvm::Expected<llvm::ModulePassManager> parse(llvm::StringRef Pipeline);

  /// The pipeline's text as LLVM prints it, without the empty adaptors that it cannot parse again.
  std::string print(llvm::ModulePassManager &Passes);

  void run(llvm::ModulePassManager &Passes, llvm::Module &M) { Passes.run(M, Modules); }

  llvm::PassBuilder &passBuilder() { return Builder; }

private:
  // Managers refer to one another: destroyed in the reverse of this order.
  llvm::TargetLibraryInfoImpl Library;
  llvm::PassInstrumentationCallbacks Callbacks;
  llvm::StandardInstrumentations Instrumentations;
  llvm::LoopAnalysisManager Loops;
  llvm::FunctionAnalysisManager Functions;
  llvm::CGSCCAnalysisManager Components;
  llvm::ModuleAnalysisManager Modules;
  llvm::PassBuilder Builder;
};

} // namespace r3

#endif
