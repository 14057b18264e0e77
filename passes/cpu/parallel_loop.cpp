// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/parallel_loop.h"

#include "cpu/analyses.h"

#include "llvm/Analysis/CaptureTracking.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace r3::cpu {

// Beyond this size nothing is won by vectorising across threads.
static constexpr unsigned MaxInlinedInstructions = 20000;

static bool isInlinable(const CallInst &Call, const Function &Entry) {
  const Function *Callee = Call.getCalledFunction();
  return Callee && !Callee->isDeclaration() && Callee != &Entry &&
         !Callee->hasFnAttribute(Attribute::NoInline) && !Callee->isVarArg();
}

static bool callsItself(const Function &F) {
  for (const User *U : F.users())
    if (auto *Call = dyn_cast<CallInst>(U); Call && Call->getFunction() == &F)
      return true;
  return false;
}

static void inlineCalls(Function &Entry) {
  for (bool Changed = true; Changed && Entry.getInstructionCount() < MaxInlinedInstructions;) {
    Changed = false;
    SmallVector<CallInst *> Calls;
    for (Instruction &I : instructions(Entry))
      if (auto *Call = dyn_cast<CallInst>(&I))
        if (isInlinable(*Call, Entry) && !callsItself(*Call->getCalledFunction()))
          Calls.push_back(Call);
    for (CallInst *Call : Calls) {
      InlineFunctionInfo Info;
      Changed |= InlineFunction(*Call, Info).isSuccess();
      if (Entry.getInstructionCount() >= MaxInlinedInstructions)
        break;
    }
  }
}

static bool synchronises(const Instruction &I) {
  if (isa<FenceInst, AtomicRMWInst, AtomicCmpXchgInst>(I))
    return true;
  if (auto *Load = dyn_cast<LoadInst>(&I))
    return !Load->isSimple();
  if (auto *Store = dyn_cast<StoreInst>(&I))
    return !Store->isSimple();
  return false;
}

static bool hasEscapingVariable(const Function &F) {
  for (const Instruction &I : instructions(F))
    if (isa<AllocaInst>(I) && PointerMayBeCaptured(&I, /*ReturnCaptures=*/true))
      return true;
  return false;
}

static bool mayPointToVariable(const Value *Pointer) {
  SmallVector<const Value *> Objects;
  getUnderlyingObjects(Pointer, Objects);
  return any_of(Objects, [](const Value *V) {
    return isa<AllocaInst>(V) ||
           !(isa<Argument, LoadInst, GlobalValue, IntToPtrInst, ConstantPointerNull>(V) ||
             isa<UndefValue>(V));
  });
}

void markParallel(Function &Entry, BranchInst &Latch) {
  inlineCalls(Entry);
  Analyses Managers;
  SROAPass(SROAOptions::PreserveCFG).run(Entry, Managers.Function);

  if (any_of(instructions(Entry), synchronises) || hasEscapingVariable(Entry))
    return;
  LLVMContext &C = Entry.getContext();
  MDNode *Group = MDNode::getDistinct(C, {});
  for (Instruction &I : instructions(Entry)) {
    const Value *Pointer = getLoadStorePointerOperand(&I);
    if (Pointer && !mayPointToVariable(Pointer))
      I.setMetadata(LLVMContext::MD_access_group, Group);
  }
  MDNode *Parallel = MDNode::get(C, {MDString::get(C, "llvm.loop.parallel_accesses"), Group});
  MDNode *Loop = MDNode::getDistinct(C, {nullptr, Parallel});
  Loop->replaceOperandWith(0, Loop);
  Latch.setMetadata(LLVMContext::MD_loop, Loop);
}

} // namespace r3::cpu
