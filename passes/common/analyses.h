// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_COMMON_ANALYSES_H
#define R3_PASSES_COMMON_ANALYSES_H

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace r3 {

/// LLVM's analysis managers, wired to one another, for the few passes that R3 runs itself.
struct Analyses {
  llvm::PassBuilder Builder; ///< Some analyses ask it when they are first wanted.
  llvm::LoopAnalysisManager Loop;
  llvm::FunctionAnalysisManager Function;
  llvm::CGSCCAnalysisManager CGSCC;
  llvm::ModuleAnalysisManager Module;

  Analyses() {
    Builder.registerModuleAnalyses(Module);
    Builder.registerCGSCCAnalyses(CGSCC);
    Builder.registerFunctionAnalyses(Function);
    Builder.registerLoopAnalyses(Loop);
    Builder.crossRegisterProxies(Loop, Function, CGSCC, Module);
  }

  /// Runs a pipeline of ours, in opt's text form.
  void run(llvm::Module &M, llvm::StringRef Pipeline) {
    llvm::ModulePassManager Passes;
    llvm::cantFail(Builder.parsePassPipeline(Passes, Pipeline));
    Passes.run(M, Module);
  }

  template <typename Analysis> typename Analysis::Result &of(llvm::Function &F) {
    return Function.getResult<Analysis>(F);
  }
};

} // namespace r3

#endif
