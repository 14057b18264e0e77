// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/emitters.h"
#include "cpu/intrinsics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace r3::cpu {

std::optional<AtomicRMWInst::BinOp> atomicOperation(StringRef Name, char Kind) {
  bool Float = Kind == 'f', Signed = Kind == 's';
  return StringSwitch<std::optional<AtomicRMWInst::BinOp>>(Name)
      .Case("add", Float ? AtomicRMWInst::FAdd : AtomicRMWInst::Add)
      .Case("min", Signed ? AtomicRMWInst::Min : AtomicRMWInst::UMin)
      .Case("max", Signed ? AtomicRMWInst::Max : AtomicRMWInst::UMax)
      .Case("inc", AtomicRMWInst::UIncWrap)
      .Case("dec", AtomicRMWInst::UDecWrap)
      .Case("and", AtomicRMWInst::And)
      .Case("or", AtomicRMWInst::Or)
      .Case("xor", AtomicRMWInst::Xor)
      .Case("exch", AtomicRMWInst::Xchg)
      .Default(std::nullopt);
}

// "atomic.add.gen.f.cta", …: the scope is wider on the host, which is allowed.
static Emitted emitScopedAtomic(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  SmallVector<StringRef> Parts;
  Name.split(Parts, '.');
  if (Parts.size() < 4 || Parts[1] != "gen")
    return std::nullopt;
  Value *Address = Call.getArgOperand(0);
  if (Parts[0] == "cas") {
    Value *Pair =
        B.CreateAtomicCmpXchg(Address, Call.getArgOperand(1), Call.getArgOperand(2), MaybeAlign(),
                              AtomicOrdering::SequentiallyConsistent, AtomicOrdering::SequentiallyConsistent);
    return B.CreateExtractValue(Pair, 0);
  }
  auto Operation = atomicOperation(Parts[0], Call.getType()->isFloatingPointTy() ? 'f' : 's');
  if (!Operation)
    return std::nullopt;
  return B.CreateAtomicRMW(*Operation, Address, Call.getArgOperand(1), MaybeAlign(),
                           AtomicOrdering::SequentiallyConsistent);
}

static Value *emitIsShared(IRBuilder<> &B, CallInst &Call) {
  Value *Block = hidden(Call, BlockParameter);
  Value *Base = B.CreatePtrToInt(loadBlockField(B, Block, SharedField), B.getInt64Ty());
  Value *Offset = B.CreateSub(B.CreatePtrToInt(Call.getArgOperand(0), B.getInt64Ty()), Base);
  Value *Dynamic = B.CreatePtrToInt(loadBlockField(B, Block, DynamicSharedField), B.getInt64Ty());
  Value *DynamicSize = B.CreateZExt(loadBlockField(B, Block, DynamicSharedSizeField), B.getInt64Ty());
  return B.CreateICmpULT(Offset, B.CreateSub(B.CreateAdd(Dynamic, DynamicSize), Base));
}

Emitted emitMemory(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Name.consume_front("atomic."))
    return emitScopedAtomic(B, Call, Name);
  if (Name.starts_with("membar.") || Name.starts_with("fence.")) {
    B.CreateFence(AtomicOrdering::SequentiallyConsistent);
    return nullptr;
  }
  if (Name.starts_with("ldu.global.") || Name.starts_with("ldg.global."))
    return B.CreateLoad(Call.getType(), Call.getArgOperand(0));
  if (Name == "isspacep.shared")
    return emitIsShared(B, Call);
  if (Name == "isspacep.global")
    return B.CreateNot(emitIsShared(B, Call));
  if (Name.starts_with("prefetch") || Name.starts_with("applypriority"))
    return nullptr;
  return std::nullopt;
}

} // namespace r3::cpu
