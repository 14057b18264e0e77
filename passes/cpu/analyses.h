// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_ANALYSES_H
#define R3_PASSES_CPU_ANALYSES_H

#include "llvm/Analysis/CGSCCPassManager.h"
#include "llvm/Analysis/LoopAnalysisManager.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"

namespace r3::cpu {

/// LLVM's analysis managers, wired to one another, for the few passes the lowering runs itself.
struct Analyses {
  llvm::LoopAnalysisManager Loop;
  llvm::FunctionAnalysisManager Function;
  llvm::CGSCCAnalysisManager CGSCC;
  llvm::ModuleAnalysisManager Module;

  Analyses() {
    llvm::PassBuilder Builder;
    Builder.registerModuleAnalyses(Module);
    Builder.registerCGSCCAnalyses(CGSCC);
    Builder.registerFunctionAnalyses(Function);
    Builder.registerLoopAnalyses(Loop);
    Builder.crossRegisterProxies(Loop, Function, CGSCC, Module);
  }
};

} // namespace r3::cpu

#endif
