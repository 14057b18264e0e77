// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/guarded_copy.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/SmallSet.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;

namespace r3 {
namespace {

using Blocks = SmallVector<BasicBlock *, 16>;

/// Splits Block behind its phis and stack slots, which must stay single.
BasicBlock *bodyOf(BasicBlock &Block) {
  BasicBlock::iterator First = Block.getFirstNonPHIIt();
  for (Instruction &I : make_early_inc_range(make_range(First, Block.end())))
    if (auto *Slot = dyn_cast<AllocaInst>(&I); Slot && Slot->isStaticAlloca())
      Slot->moveBefore(Block.getFirstNonPHIIt());
  First = Block.getFirstNonPHIIt();
  while (isa<AllocaInst>(*First) && cast<AllocaInst>(*First).isStaticAlloca())
    ++First;
  return SplitBlock(&Block, First);
}

/// Where control comes from the originals it now also comes from their copies.
void addIncoming(ArrayRef<BasicBlock *> Originals, ValueToValueMapTy &Copies) {
  SmallPtrSet<BasicBlock *, 16> Inside(Originals.begin(), Originals.end()), Outside;
  for (BasicBlock *Block : Originals)
    for (BasicBlock *Next : successors(Block))
      if (!Inside.contains(Next))
        Outside.insert(Next);
  auto CopyOf = [&](Value *V) -> Value * {
    Value *Copy = Copies.lookup(V);
    return Copy ? Copy : V;
  };
  for (BasicBlock *Next : Outside)
    for (PHINode &Phi : Next->phis())
      for (unsigned I = 0, Known = Phi.getNumIncomingValues(); I < Known; ++I)
        if (Inside.contains(Phi.getIncomingBlock(I)))
          Phi.addIncoming(CopyOf(Phi.getIncomingValue(I)), cast<BasicBlock>(CopyOf(Phi.getIncomingBlock(I))));
}

/// LLVM makes one piece of code of two that end alike, with the constants as operands that depend on the
/// branch: what differs at the end, if it does nothing, keeps the copy one's own.
void keepApart(ArrayRef<BasicBlock *> Copied) {
  SmallPtrSet<BasicBlock *, 16> Inside(Copied.begin(), Copied.end());
  for (BasicBlock *Block : Copied)
    if (!all_of(successors(Block), [&](BasicBlock *Next) { return Inside.contains(Next); }) ||
        isa<ReturnInst>(Block->getTerminator()))
      IRBuilder<>(Block->getTerminator()).CreateIntrinsic(Intrinsic::sideeffect, {});
}

} // namespace

Blocks copyGuarded(BasicBlock &Block, ValueToValueMapTy &Copies,
                   function_ref<Value *(IRBuilderBase &)> WriteGuard) {
  Function &F = *Block.getParent();
  BasicBlock *Body = bodyOf(Block);
  DominatorTree Tree(F);
  SmallVector<BasicBlock *, 16> Originals;
  Tree.getDescendants(Body, Originals);
  Blocks Copied;
  for (BasicBlock *Original : Originals) {
    Copied.push_back(CloneBasicBlock(Original, Copies, ".table", &F));
    Copies[Original] = Copied.back();
  }
  remapInstructionsInBlocks(Copied, Copies);
  addIncoming(Originals, Copies);
  keepApart(Copied);

  Instruction *Jump = Block.getTerminator();
  IRBuilder<> Builder(Jump);
  Value *Holds = WriteGuard(Builder);
  Builder.CreateCondBr(Holds, cast<BasicBlock>(Copies[Body]), Body,
                       MDBuilder(F.getContext()).createLikelyBranchWeights());
  Jump->eraseFromParent();
  return Copied;
}

} // namespace r3
