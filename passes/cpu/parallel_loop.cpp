// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/parallel_loop.h"

#include "common/analyses.h"

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

namespace {

// What inlining asks of a callee, found once: a generated kernel calls the same function thousands of times.
struct Callee {
  bool Inlinable;
  unsigned Size;
};

class Callees {
public:
  const Callee &operator[](const Function &F) {
    auto [At, New] = Known.try_emplace(&F);
    if (New)
      At->second = {isInlinable(F), F.getInstructionCount()};
    return At->second;
  }

private:
  static bool isInlinable(const Function &F) {
    return !F.isDeclaration() && !F.hasFnAttribute(Attribute::NoInline) && !F.isVarArg() && !callsItself(F);
  }

  static bool callsItself(const Function &F) {
    return any_of(F.users(), [&](const User *U) {
      auto *Call = dyn_cast<CallInst>(U);
      return Call && Call->getFunction() == &F;
    });
  }

  DenseMap<const Function *, Callee> Known;
};

} // namespace

// Calls of one level, and the size of what they bring.
static std::pair<SmallVector<CallInst *>, unsigned> inlinableCalls(Function &Entry, Callees &Known) {
  SmallVector<CallInst *> Calls;
  unsigned Size = 0;
  for (Instruction &I : instructions(Entry)) {
    auto *Call = dyn_cast<CallInst>(&I);
    const Function *F = Call ? Call->getCalledFunction() : nullptr;
    if (!F || F == &Entry || !Known[*F].Inlinable)
      continue;
    Calls.push_back(Call);
    Size += Known[*F].Size;
  }
  return {std::move(Calls), Size};
}

static void inlineCalls(Function &Entry) {
  Callees Known;
  for (bool Changed = true; Changed;) {
    auto [Calls, Size] = inlinableCalls(Entry, Known);
    if (Entry.getInstructionCount() + Size >= MaxInlinedInstructions)
      return;
    Changed = false;
    for (CallInst *Call : Calls) {
      InlineFunctionInfo Info;
      Changed |= InlineFunction(*Call, Info).isSuccess();
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
