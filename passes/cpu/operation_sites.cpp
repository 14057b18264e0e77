// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/operation_sites.h"

#include "common/analyses.h"
#include "common/describe.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Transforms/IPO/AlwaysInliner.h"

using namespace llvm;

namespace r3::cpu {

static DenseSet<Function *> functionsThatReach(Module &M,
                                               function_ref<bool(const CallInst &)> FindsPartners) {
  DenseSet<Function *> Found;
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (Function &F : M) {
      auto Holds = [&](Instruction &I) {
        auto *Call = dyn_cast<CallInst>(&I);
        return Call && (FindsPartners(*Call) || Found.contains(Call->getCalledFunction()));
      };
      if (!F.isDeclaration() && !Found.contains(&F) && any_of(instructions(F), Holds))
        Changed = Found.insert(&F).second;
    }
  }
  return Found;
}

void inlineOperationSites(Module &M, function_ref<bool(const CallInst &)> FindsPartners) {
  DenseSet<Function *> Reaching = functionsThatReach(M, FindsPartners);
  if (Reaching.empty())
    return;
  for (Function *F : Reaching) {
    if (isKernel(*F))
      continue;
    F->removeFnAttr(Attribute::NoInline);
    F->removeFnAttr(Attribute::OptimizeNone);
    F->addFnAttr(Attribute::AlwaysInline);
  }
  Analyses Managers;
  AlwaysInlinerPass(/*InsertLifetime=*/false).run(M, Managers.Module);
}

bool asksForActiveLanes(const CallInst &Call) { return Call.getIntrinsicID() == Intrinsic::nvvm_activemask; }

} // namespace r3::cpu
