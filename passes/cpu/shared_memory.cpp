// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/shared_memory.h"

#include "cpu/intrinsics.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ReplaceConstant.h"

using namespace llvm;

namespace r3::cpu {

namespace {

using FunctionSet = SmallSetVector<Function *, 8>;

FunctionSet closure(Function &Root) {
  FunctionSet Reached;
  Reached.insert(&Root);
  for (unsigned Next = 0; Next < Reached.size(); ++Next)
    for (Instruction &I : instructions(Reached[Next]))
      for (Value *Operand : I.operands())
        if (auto *F = dyn_cast<Function>(Operand); F && !F->isDeclaration())
          Reached.insert(F);
  return Reached;
}

// A function table in memory reaches any function whose address is taken.
void addIndirect(Module &M, FunctionSet &Reached) {
  for (Function &F : M)
    if (!F.isDeclaration() && F.hasAddressTaken())
      for (Function *Called : closure(F))
        Reached.insert(Called);
}

class Placement {
public:
  explicit Placement(HostModule &Host) : Host(Host) {
    for (Kernel &K : Host.Kernels) {
      FunctionSet Reached = closure(*K.Body);
      addIndirect(*Host.M, Reached);
      Closures.push_back(std::move(Reached));
    }
  }

  SharedSizes run() {
    for (SharedVariable &V : Host.Shared)
      place(V);
    SharedSizes Sizes;
    for (size_t K = 0; K < Host.Kernels.size(); ++K)
      Sizes[Host.Kernels[K].Body] = sizeOf(K);
    for (SharedVariable &V : Host.Shared) {
      replaceUses(V);
      V.Placeholder->eraseFromParent();
    }
    return Sizes;
  }

private:
  bool usedBy(const SharedVariable &V, size_t K) const {
    for (User *U : V.Placeholder->users())
      if (auto *I = dyn_cast<Instruction>(U); I && Closures[K].contains(I->getFunction()))
        return true;
    return false;
  }

  void place(SharedVariable &V) {
    uint64_t Offset = 0;
    for (size_t K = 0; K < Closures.size(); ++K)
      if (usedBy(V, K))
        Offset = std::max(Offset, sizeOf(K));
    if (!V.Dynamic)
      Offsets[V.Placeholder] = alignTo(Offset, Align(V.Alignment));
  }

  uint64_t sizeOf(size_t K) const {
    uint64_t End = 0;
    for (const SharedVariable &V : Host.Shared)
      if (auto It = Offsets.find(V.Placeholder); It != Offsets.end() && usedBy(V, K))
        End = std::max(End, It->second + V.Size);
    return End;
  }

  Value *address(IRBuilder<> &B, const SharedVariable &V) {
    Value *Block = B.GetInsertBlock()->getParent()->getArg(BlockParameter);
    if (V.Dynamic)
      return loadBlockField(B, Block, DynamicSharedField);
    Value *Base = loadBlockField(B, Block, SharedField);
    return B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Base, Offsets.lookup(V.Placeholder));
  }

  void replaceUses(const SharedVariable &V) {
    DenseMap<Function *, Value *> Addresses;
    for (Use &U : make_early_inc_range(V.Placeholder->uses())) {
      auto *I = dyn_cast<Instruction>(U.getUser());
      if (!I)
        continue;
      Value *&Address = Addresses[I->getFunction()];
      if (!Address) {
        IRBuilder<> B(&*I->getFunction()->getEntryBlock().getFirstInsertionPt());
        Address = address(B, V);
        Address->setName(V.Placeholder->getName());
      }
      U.set(Address);
    }
    V.Placeholder->replaceAllUsesWith(PoisonValue::get(V.Placeholder->getType()));
  }

  HostModule &Host;
  std::vector<FunctionSet> Closures;
  DenseMap<GlobalVariable *, uint64_t> Offsets;
};

} // namespace

SharedSizes placeSharedMemory(HostModule &Host) {
  // Only an instruction's operand can become an address of the block; whatever ran before may have folded
  // some.
  SmallVector<Constant *> Placeholders;
  for (SharedVariable &V : Host.Shared)
    Placeholders.push_back(V.Placeholder);
  convertUsersOfConstantsToInstructions(Placeholders);
  return Placement(Host).run();
}

} // namespace r3::cpu
