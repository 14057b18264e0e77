// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/trim.h"

#include "common/analyses.h"
#include "common/describe.h"
#include "cpu/math.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Transforms/IPO/ExpandVariadics.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace r3::cpu {

// The host flushes no denormals; libdevice asks for the architecture to choose between equivalent code.
static uint64_t reflectedValue(StringRef Key) {
  if (Key == "__CUDA_ARCH")
    return 900;
  if (Key == "__CUDA_PREC_DIV" || Key == "__CUDA_PREC_SQRT")
    return 1;
  return 0;
}

static void foldUsers(Instruction &I, Constant *Value) {
  SmallVector<std::pair<Instruction *, Constant *>> Work{{&I, Value}};
  const DataLayout &Layout = I.getDataLayout();
  while (!Work.empty()) {
    auto [Folded, Replacement] = Work.pop_back_val();
    SmallSetVector<Instruction *, 8> Users; // one may use it twice
    for (User *U : Folded->users())
      Users.insert(cast<Instruction>(U));
    Folded->replaceAllUsesWith(Replacement);
    Folded->eraseFromParent();
    for (Instruction *U : Users)
      if (Constant *C = ConstantFoldInstruction(U, Layout))
        Work.push_back({U, C});
  }
}

static StringRef reflectKey(const CallInst &Call) {
  StringRef Text;
  if (getConstantStringInfo(Call.getArgOperand(0)->stripPointerCasts(), Text))
    return Text;
  return "";
}

// A branch that is not taken may hold what the host cannot do, so it goes.
static void answerReflect(Module &Device) {
  SmallPtrSet<Function *, 16> Changed;
  for (StringRef Name : {"__nvvm_reflect", "llvm.nvvm.reflect"}) {
    Function *Reflect = Device.getFunction(Name);
    if (!Reflect)
      continue;
    SmallVector<CallInst *> Calls;
    for (User *U : Reflect->users())
      if (auto *Call = dyn_cast<CallInst>(U))
        Calls.push_back(Call);
    for (CallInst *Call : Calls) {
      Changed.insert(Call->getFunction());
      foldUsers(*Call, ConstantInt::get(Call->getType(), reflectedValue(reflectKey(*Call))));
    }
  }
  for (Function *F : Changed) {
    for (BasicBlock &BB : *F)
      ConstantFoldTerminator(&BB);
    EliminateUnreachableBlocks(*F);
  }
}

// The device passes arguments of no fixed number in a buffer, and its code reads them there.
static void expandVariadics(Module &Device) {
  Analyses Managers;
  ExpandVariadicsPass(ExpandVariadicsMode::Lowering).run(Device, Managers.Module);
}

static bool namedByHost(const GlobalVariable &G) {
  return !G.isDeclaration() && G.getAddressSpace() != NVPTXAS::ADDRESS_SPACE_SHARED && !G.hasLocalLinkage();
}

static void removeUnreached(Module &Device) {
  for (Function &F : Device)
    if (!F.isDeclaration() && !isKernel(F)) {
      F.setComdat(nullptr);
      F.setLinkage(GlobalValue::InternalLinkage);
    }
  for (GlobalVariable &G : Device.globals())
    if (namedByHost(G) && G.hasWeakLinkage())
      G.setLinkage(GlobalValue::ExternalLinkage);
  Analyses Managers;
  GlobalDCEPass().run(Device, Managers.Module);
}

void trimDeviceModule(Module &Device) {
  expandVariadics(Device);
  answerReflect(Device);
  for (Function &F : Device)
    if (!F.isDeclaration() && isHostMath(F.getName()))
      F.deleteBody();
  removeUnreached(Device);
}

} // namespace r3::cpu
