// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/ptx_memory.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace r3::cpu {

static Value *argument(CallInst &Call, unsigned I) { return Call.getArgOperand(I); }

namespace {

/// What a load or a store says of memory: "ld.relaxed.gpu.global.v2.u32 {$0, $1}, [$2]".
struct Access {
  AtomicOrdering Order = AtomicOrdering::NotAtomic;
  bool Volatile = false;
  unsigned Count = 1;
  bool Signed = false;
  unsigned Bits = 0; ///< of one element
};

} // namespace

static AtomicOrdering orderOf(StringRef Order) {
  return StringSwitch<AtomicOrdering>(Order.split('.').first)
      .Case("relaxed", AtomicOrdering::Monotonic)
      .Case("acquire", AtomicOrdering::Acquire)
      .Case("release", AtomicOrdering::Release)
      .Case("acq_rel", AtomicOrdering::AcquireRelease)
      .Default(AtomicOrdering::NotAtomic);
}

// Memory that any thread can see, with whatever hint for caches. What is not a plain access or an ordered one
// of at most 64 bits is none that the host has.
static std::optional<Access> accessOf(StringRef Instruction, StringRef Name) {
  static const Regex Form("^(ld|st)(\\.(volatile|(relaxed|acquire|release)\\.(cta|gpu|sys)))?(\\.global)?"
                          "(\\.(nc|ca|cg|cs|lu|cv|wb|wt))?(\\.L1::no_allocate)?(\\.v([24]))?"
                          "\\.([usbf])(8|16|32|64)$");
  SmallVector<StringRef> Parts;
  if (!Form.match(Instruction, &Parts) || Parts[1] != Name)
    return std::nullopt;
  Access A;
  A.Order = orderOf(Parts[3]);
  A.Volatile = Parts[3] == "volatile" || Parts[8] == "cv";
  if (!Parts[11].empty())
    A.Count = Parts[11][0] - '0';
  A.Signed = Parts[12] == "s";
  Parts[13].getAsInteger(10, A.Bits);
  bool Ordered = A.Order != AtomicOrdering::NotAtomic;
  return Ordered && A.Bits * A.Count > 64 ? std::nullopt : std::optional<Access>(A);
}

/// "$3", or "{$3,$4}" for more than one.
static std::string registers(unsigned First, unsigned Count) {
  std::string Text;
  for (unsigned I = 0; I < Count; ++I)
    Text += (I ? ",$" : "$") + std::to_string(First + I);
  return Count == 1 ? Text : "{" + Text + "}";
}

static std::string withoutBlanks(StringRef Text) {
  std::string Rest = Text.str();
  erase(Rest, ' ');
  return Rest;
}

static Value *toRegister(IRBuilder<> &B, Value *Element, Type *T, bool Signed) {
  if (T->isFloatingPointTy())
    return B.CreateBitCast(Element, T);
  return Signed ? B.CreateSExtOrTrunc(Element, T) : B.CreateZExtOrTrunc(Element, T);
}

// All elements are read at once, as the device does.
static Emitted rewriteLoad(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  auto [Instruction, Operands] = Text.split(' ');
  std::optional<Access> A = accessOf(Instruction, "ld");
  if (!A || Call.arg_size() != 1 ||
      withoutBlanks(Operands) != registers(0, A->Count) + ",[$" + std::to_string(A->Count) + "]")
    return std::nullopt;
  Value *Pointer = B.CreateIntToPtr(argument(Call, 0), B.getPtrTy());
  unsigned Bits = A->Bits * A->Count;
  // Who waits for a word of another thread of the block lets it run.
  if (A->Order == AtomicOrdering::Acquire)
    B.CreateIntrinsic(Intrinsic::nvvm_nanosleep, {B.getInt32(0)});
  LoadInst *Whole = B.CreateAlignedLoad(B.getIntNTy(Bits), Pointer, Align(Bits / 8), A->Volatile);
  Whole->setAtomic(A->Order);
  auto *Parts = dyn_cast<StructType>(Call.getType());
  if (!Parts)
    return toRegister(B, Whole, Call.getType(), A->Signed);
  Value *Parted = PoisonValue::get(Parts);
  for (unsigned I = 0; I < A->Count; ++I) {
    Value *Element = B.CreateTrunc(B.CreateLShr(Whole, I * A->Bits), B.getIntNTy(A->Bits));
    Parted = B.CreateInsertValue(Parted, toRegister(B, Element, Parts->getElementType(I), A->Signed), I);
  }
  return Parted;
}

static Emitted rewriteStore(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  auto [Instruction, Operands] = Text.split(' ');
  std::optional<Access> A = accessOf(Instruction, "st");
  if (!A || Call.arg_size() != A->Count + 1 || withoutBlanks(Operands) != "[$0]," + registers(1, A->Count))
    return std::nullopt;
  unsigned Bits = A->Bits * A->Count;
  Value *Whole = B.getIntN(Bits, 0);
  for (unsigned I = 0; I < A->Count; ++I) {
    Value *V = argument(Call, 1 + I);
    Value *Word = B.CreateBitCast(V, B.getIntNTy(V->getType()->getPrimitiveSizeInBits().getFixedValue()));
    Value *Element = B.CreateZExtOrTrunc(B.CreateZExtOrTrunc(Word, B.getIntNTy(A->Bits)), Whole->getType());
    Whole = B.CreateOr(Whole, B.CreateShl(Element, I * A->Bits));
  }
  Value *Pointer = B.CreateIntToPtr(argument(Call, 0), B.getPtrTy());
  StoreInst *Store = B.CreateAlignedStore(Whole, Pointer, Align(Bits / 8), A->Volatile);
  Store->setAtomic(A->Order);
  return nullptr;
}

namespace {

/// "atom.add.relaxed.gpu.s32", "atom.relaxed.gpu.global.add.s32", "red.or.release.cta.b32", …
struct AtomicText {
  bool Returns = false;
  StringRef Operation;
  AtomicOrdering Order = AtomicOrdering::Monotonic;
  char Kind = 0; ///< s, u, b or f
  unsigned Bits = 0;
};

} // namespace

static std::optional<AtomicText> atomicOf(StringRef Instruction) {
  SmallVector<StringRef> Parts;
  Instruction.split(Parts, '.');
  AtomicText A;
  A.Returns = Parts.front() == "atom";
  if (Parts.size() < 3 || (!A.Returns && Parts.front() != "red"))
    return std::nullopt;
  StringRef Type = Parts.pop_back_val();
  A.Kind = Type.front();
  if (!StringRef("subf").contains(A.Kind) || Type.drop_front().getAsInteger(10, A.Bits) ||
      (A.Bits != 32 && A.Bits != 64))
    return std::nullopt;
  for (StringRef Part : drop_begin(Parts)) {
    if (is_contained({"cta", "gpu", "sys", "global"}, Part))
      continue;
    if (AtomicOrdering Order = orderOf(Part); Order != AtomicOrdering::NotAtomic)
      A.Order = Order;
    else if (A.Operation.empty())
      A.Operation = Part;
    else
      return std::nullopt;
  }
  return A;
}

// What is not of the type's width, or a minimum of floats, is none that the host has.
static bool isOfType(Value *V, const AtomicText &A) {
  Type *T = V->getType();
  return A.Kind == 'f' ? A.Operation == "add" && (A.Bits == 32 ? T->isFloatTy() : T->isDoubleTy())
                       : T->isIntegerTy(A.Bits);
}

static Emitted rewriteAtomic(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  auto [Instruction, Operands] = Text.split(' ');
  std::optional<AtomicText> A = atomicOf(Instruction);
  if (!A)
    return std::nullopt;
  bool Swaps = A->Operation == "cas";
  auto Operation = atomicOperation(A->Operation, A->Kind);
  std::string Wanted = A->Returns ? (Swaps ? "$0,[$1],$2,$3" : "$0,[$1],$2") : "[$0],$1";
  if ((!Swaps && !Operation) || Call.arg_size() != (Swaps ? 3 : 2) || withoutBlanks(Operands) != Wanted ||
      !isOfType(argument(Call, 1), *A))
    return std::nullopt;
  Value *Pointer = B.CreateIntToPtr(argument(Call, 0), B.getPtrTy());
  if (!Swaps) {
    Value *Before = B.CreateAtomicRMW(*Operation, Pointer, argument(Call, 1), MaybeAlign(), A->Order);
    return A->Returns ? Before : nullptr;
  }
  AtomicOrdering Failure = AtomicCmpXchgInst::getStrongestFailureOrdering(A->Order);
  Value *Pair =
      B.CreateAtomicCmpXchg(Pointer, argument(Call, 1), argument(Call, 2), MaybeAlign(), A->Order, Failure);
  return B.CreateExtractValue(Pair, 0);
}

static Emitted rewriteFence(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Fence("^(membar\\.(cta|gl|sys)|fence(\\.(sc|acq_rel))?\\.(cta|gpu|sys))$");
  if (!Call.getType()->isVoidTy() || !Fence.match(Text))
    return std::nullopt;
  B.CreateFence(AtomicOrdering::SequentiallyConsistent);
  return nullptr;
}

// What cooperative groups keep for tiles of several warps lies in shared memory that the system reserves.
static Emitted rewriteReservedMemory(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  constexpr unsigned Size = 288;
  static const Regex Address("^{ \\.reg \\.u32 start; \\.reg \\.u64 extended; mov\\.u32 start, "
                             "%+reserved_smem_offset_1; cvt\\.u64\\.u32 extended, start; "
                             "cvta\\.shared\\.u64 \\$0, extended; }$");
  if (!Address.match(Text) || !Call.getType()->isIntegerTy(64))
    return std::nullopt;
  constexpr const char *Name = "r3.reserved";
  Module &M = *Call.getModule();
  GlobalVariable *Reserved = M.getGlobalVariable(Name, /*AllowInternal=*/true);
  if (!Reserved) {
    auto *Bytes = ArrayType::get(B.getInt8Ty(), Size);
    Reserved = new GlobalVariable(M, Bytes, false, GlobalValue::InternalLinkage, PoisonValue::get(Bytes),
                                  Name, nullptr, GlobalValue::NotThreadLocal, NVPTXAS::ADDRESS_SPACE_SHARED);
    Reserved->setAlignment(Align(16));
  }
  Instruction *Generic = CastInst::Create(Instruction::AddrSpaceCast, Reserved, B.getPtrTy());
  return B.CreatePtrToInt(B.Insert(Generic), Call.getType());
}

Emitted rewriteMemoryText(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  for (auto Family : {rewriteLoad, rewriteStore, rewriteAtomic, rewriteFence, rewriteReservedMemory})
    if (Emitted Result = Family(B, Call, Text))
      return Result;
  return std::nullopt;
}

} // namespace r3::cpu
