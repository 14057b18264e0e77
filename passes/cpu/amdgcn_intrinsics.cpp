// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMDGCN: a thread's place, wave operations, memory, and the runtime's functions.
#include "cpu/emitters.h"
#include "cpu/intrinsics.h"

#include "../record_runtime/cpu/module_abi.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace r3::cpu {

static unsigned waveOf(const CallInst &Call) {
  auto *Wave = mdconst::extract_or_null<ConstantInt>(Call.getModule()->getModuleFlag(WaveFlag));
  return Wave ? Wave->getZExtValue() : 32;
}

static Value *emitLane(IRBuilder<> &B, CallInst &Call) {
  return B.CreateAnd(emitLinearThread(B, Call), waveOf(Call) - 1);
}

// --- place ---

Emitted emitAmdgcnPlace(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Value *Block = hidden(Call, BlockParameter);
  unsigned Axis = Name.empty() ? 0 : Name.back() - 'x';
  if (Name.starts_with("workitem.id."))
    return hidden(Call, HiddenParameter(ThreadX + Axis));
  if (Name.starts_with("workgroup.id."))
    return loadBlockField(B, Block, BlockIdField, Axis);
  if (Name == "implicitarg.ptr")
    return loadBlockField(B, Block, ImplicitArgumentsField);
  if (Name == "dispatch.ptr")
    return loadBlockField(B, Block, DispatchPacketField);
  if (Name == "wavefrontsize")
    return B.getInt32(waveOf(Call));
  if (Name == "groupstaticsize")
    return loadBlockField(B, Block, StaticSharedSizeField);
  if (Name == "s.memtime" || Name == "s.getreg")
    return B.CreateTrunc(callEngine(B, "r3cpu_clock", B.getInt64Ty(), {}), Call.getType());
  if (Name == "s.memrealtime")
    return callEngine(B, "r3cpu_globaltimer", B.getInt64Ty(), {});
  return std::nullopt;
}

// --- wave operations ---

/// Numbers calls in program order: function after function, each from its entry on.
static Value *nextSite(IRBuilder<> &B, CallInst &Call) {
  Function *Engine = Call.getModule()->getFunction("r3cpu_wave");
  return B.getInt32(Engine ? Engine->getNumUses() : 0);
}

static Value *asWord(IRBuilder<> &B, Value *V) {
  Type *T = V->getType();
  if (T->isPointerTy())
    return B.CreatePtrToInt(V, B.getInt64Ty());
  unsigned Bits = T->getPrimitiveSizeInBits().getFixedValue();
  return B.CreateZExtOrTrunc(B.CreateBitCast(V, B.getIntNTy(Bits)), B.getInt64Ty());
}

static Value *fromWord(IRBuilder<> &B, Value *Word, Type *T) {
  if (T->isPointerTy())
    return B.CreateIntToPtr(Word, T);
  unsigned Bits = T->getPrimitiveSizeInBits().getFixedValue();
  return B.CreateBitCast(B.CreateTrunc(Word, B.getIntNTy(Bits)), T);
}

static bool fitsWord(Type *T) {
  return T->isPointerTy() || (T->getPrimitiveSizeInBits().isFixed() && T->getPrimitiveSizeInBits() > 0 &&
                              T->getPrimitiveSizeInBits() <= 64);
}

static Value *wave(IRBuilder<> &B, CallInst &Call, r3cpu_wave_operation Operation, Value *V,
                   Value *Lane = nullptr, Value *Fallback = nullptr) {
  CallInst *New = callEngine(B, "r3cpu_wave", B.getInt64Ty(),
                             {hidden(Call, BlockParameter), nextSite(B, Call), B.getInt32(Operation), V,
                              Lane ? B.CreateZExtOrTrunc(Lane, B.getInt32Ty()) : B.getInt32(0),
                              Fallback ? Fallback : B.getInt64(0)});
  // Two calls are two places, wherever they stand.
  New->addFnAttr(Attribute::Convergent);
  New->addFnAttr(Attribute::NoMerge);
  return New;
}

static Value *ballot(IRBuilder<> &B, CallInst &Call, Value *Predicate) {
  return B.CreateZExtOrTrunc(wave(B, Call, R3CPU_WAVE_BALLOT, B.CreateZExt(Predicate, B.getInt64Ty())),
                             Call.getType());
}

/// "ds.swizzle": which lane of its group of 32 a lane reads.
static Value *swizzledLane(IRBuilder<> &B, Value *Lane, uint32_t Offset) {
  if (Offset & 0x8000) { // four lanes, each any of the four
    Value *Shift = B.CreateShl(B.CreateAnd(Lane, 3), 1);
    Value *Pick = B.CreateAnd(B.CreateLShr(B.getInt32(Offset & 0xff), Shift), 3);
    return B.CreateOr(B.CreateAnd(Lane, ~3u), Pick);
  }
  uint32_t And = Offset & 31, Or = Offset >> 5 & 31, Xor = Offset >> 10 & 31;
  Value *Within = B.CreateXor(B.CreateOr(B.CreateAnd(B.CreateAnd(Lane, 31), And), Or), Xor);
  return B.CreateOr(B.CreateAnd(Lane, ~31u), Within);
}

/// The lane that "dpp" reads by its control word, or a lane that no wave has where it reads outside its row;
/// nothing for a control that is not known.
static Value *dppLane(IRBuilder<> &B, Value *Lane, uint32_t Control) {
  Value *Row = B.CreateAnd(Lane, ~15u), *Within = B.CreateAnd(Lane, 15);
  auto InRow = [&](Value *Source) {
    return B.CreateSelect(B.CreateICmpULT(Source, B.getInt32(16)), B.CreateOr(Row, Source), B.getInt32(~0u));
  };
  if (Control <= 0xff) // quad_perm
    return swizzledLane(B, Lane, 0x8000 | Control);
  if (Control > 0x100 && Control <= 0x10f) // row_shl
    return InRow(B.CreateAdd(Within, B.getInt32(Control & 15)));
  if (Control > 0x110 && Control <= 0x11f) // row_shr
    return InRow(B.CreateSub(Within, B.getInt32(Control & 15)));
  if (Control > 0x120 && Control <= 0x12f) // row_ror
    return B.CreateOr(Row, B.CreateAnd(B.CreateSub(Within, B.getInt32(Control & 15)), 15));
  if (Control == 0x130) // wave_shl
    return B.CreateAdd(Lane, B.getInt32(1));
  if (Control == 0x138) // wave_shr
    return B.CreateSub(Lane, B.getInt32(1));
  if (Control == 0x140) // row_mirror
    return B.CreateOr(Row, B.CreateSub(B.getInt32(15), Within));
  if (Control == 0x141) // row_half_mirror
    return B.CreateXor(Lane, 7);
  if (Control == 0x142) // row_bcast15
    return B.CreateSub(Row, B.getInt32(1));
  if (Control == 0x143) // row_bcast31
    return B.CreateSelect(B.CreateICmpULT(Lane, B.getInt32(32)), B.getInt32(~0u), B.getInt32(31));
  if (Control >= 0x150 && Control <= 0x15f) // row_share
    return B.CreateOr(Row, B.getInt32(Control & 15));
  if (Control >= 0x160 && Control <= 0x16f) // row_xmask
    return B.CreateXor(Lane, Control & 15);
  return nullptr;
}

static uint32_t constantOf(Value *V) { return cast<ConstantInt>(V)->getZExtValue(); }

/// old, source, control, mask of rows, mask of banks, whether a lane outside gives 0 instead of old.
static Emitted emitDpp(IRBuilder<> &B, CallInst &Call, Value *Old, unsigned First) {
  auto Operand = [&](unsigned I) { return Call.getArgOperand(First + I); };
  Value *Lane = emitLane(B, Call), *Source = dppLane(B, Lane, constantOf(Operand(1)));
  if (!Source)
    return std::nullopt;
  Type *T = Call.getType();
  bool ZeroOutside = constantOf(Operand(4)) != 0;
  Value *Outside = ZeroOutside ? Constant::getNullValue(T) : Old;
  Value *Got =
      fromWord(B, wave(B, Call, R3CPU_WAVE_FETCH, asWord(B, Operand(0)), Source, asWord(B, Outside)), T);
  auto Enabled = [&](uint32_t Mask, unsigned Shift) {
    Value *Index = B.CreateAnd(B.CreateLShr(Lane, Shift), 3);
    return B.CreateTrunc(B.CreateLShr(B.getInt32(Mask), Index), B.getInt1Ty());
  };
  Value *Writes = B.CreateAnd(Enabled(constantOf(Operand(2)), 4), Enabled(constantOf(Operand(3)), 2));
  return B.CreateSelect(Writes, Got, Old);
}

static Emitted emitCompare(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  auto Predicate = CmpInst::Predicate(constantOf(Call.getArgOperand(2)));
  Value *Left = Call.getArgOperand(0), *Right = Call.getArgOperand(1);
  return ballot(B, Call,
                Name.starts_with("icmp") ? B.CreateICmp(Predicate, Left, Right)
                                         : B.CreateFCmp(Predicate, Left, Right));
}

/// How many of the mask's lanes lie below this one, among lanes 0 to 31 or 32 to 63.
static Value *emitCountBelow(IRBuilder<> &B, CallInst &Call, bool High) {
  Value *Lane = B.CreateZExt(emitLane(B, Call), B.getInt64Ty());
  Value *Below = B.CreateSub(B.CreateShl(B.getInt64(1), Lane), B.getInt64(1));
  Value *Half = B.CreateTrunc(High ? B.CreateLShr(Below, 32) : Below, B.getInt32Ty());
  Value *Count = B.CreateUnaryIntrinsic(Intrinsic::ctpop, B.CreateAnd(Half, Call.getArgOperand(0)));
  return B.CreateAdd(Count, Call.getArgOperand(1));
}

static Value *laneOfBytes(IRBuilder<> &B, CallInst &Call) {
  return B.CreateAnd(B.CreateLShr(Call.getArgOperand(0), 2), waveOf(Call) - 1);
}

static Emitted emitMove(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Name.starts_with("readfirstlane"))
    return fromWord(B, wave(B, Call, R3CPU_WAVE_FIRST, asWord(B, Call.getArgOperand(0))), Call.getType());
  if (Name.starts_with("readlane")) {
    Value *Lane = B.CreateAnd(Call.getArgOperand(1), waveOf(Call) - 1);
    return fromWord(B, wave(B, Call, R3CPU_WAVE_GATHER, asWord(B, Call.getArgOperand(0)), Lane),
                    Call.getType());
  }
  if (Name.starts_with("writelane")) {
    Value *Here = B.CreateICmpEQ(emitLane(B, Call), B.CreateAnd(Call.getArgOperand(1), waveOf(Call) - 1));
    return B.CreateSelect(Here, Call.getArgOperand(0), Call.getArgOperand(2));
  }
  if (Name == "ds.bpermute")
    return fromWord(B,
                    wave(B, Call, R3CPU_WAVE_GATHER, asWord(B, Call.getArgOperand(1)), laneOfBytes(B, Call)),
                    Call.getType());
  if (Name == "ds.permute")
    return fromWord(B,
                    wave(B, Call, R3CPU_WAVE_SCATTER, asWord(B, Call.getArgOperand(1)), laneOfBytes(B, Call)),
                    Call.getType());
  if (Name == "ds.swizzle") {
    Value *Lane = swizzledLane(B, emitLane(B, Call), constantOf(Call.getArgOperand(1)));
    return fromWord(B, wave(B, Call, R3CPU_WAVE_GATHER, asWord(B, Call.getArgOperand(0)), Lane),
                    Call.getType());
  }
  if (Name.starts_with("update.dpp"))
    return emitDpp(B, Call, Call.getArgOperand(0), 1);
  if (Name.starts_with("mov.dpp."))
    return emitDpp(B, Call, PoisonValue::get(Call.getType()), 0);
  return std::nullopt;
}

Emitted emitExecMask(IRBuilder<> &B, CallInst &Call) {
  auto *Names = dyn_cast<MDNode>(cast<MetadataAsValue>(Call.getArgOperand(0))->getMetadata());
  auto *Name = Names && Names->getNumOperands() ? dyn_cast<MDString>(Names->getOperand(0)) : nullptr;
  if (!Name || !Name->getString().starts_with("exec"))
    return std::nullopt;
  Value *Mask = wave(B, Call, R3CPU_WAVE_BALLOT, B.getInt64(1));
  return B.CreateTrunc(Name->getString() == "exec_hi" ? B.CreateLShr(Mask, 32) : Mask, Call.getType());
}

Emitted emitAmdgcnWave(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Value *Block = hidden(Call, BlockParameter);
  if (Name == "s.barrier") {
    callEngine(B, "r3cpu_barrier", B.getVoidTy(), {Block, B.getInt32(0), B.getInt32(0)});
    return nullptr;
  }
  if (Name == "s.barrier.signal") // the wait that follows is the barrier
    return nullptr;
  if (Name == "s.barrier.wait") {
    callEngine(B, "r3cpu_barrier", B.getVoidTy(), {Block, B.getInt32(0), B.getInt32(0)});
    return nullptr;
  }
  if (Name == "wave.barrier") {
    wave(B, Call, R3CPU_WAVE_SYNC, B.getInt64(0));
    return nullptr;
  }
  if (Name == "s.sleep") {
    callEngine(B, "r3cpu_yield", B.getVoidTy(), {Block});
    return nullptr;
  }
  if (Name == "endpgm") {
    callEngine(B, "r3cpu_exit", B.getVoidTy(), {Block});
    return nullptr;
  }
  if (Name == "mbcnt.lo" || Name == "mbcnt.hi")
    return emitCountBelow(B, Call, Name == "mbcnt.hi");
  if (Name.starts_with("ballot."))
    return ballot(B, Call, Call.getArgOperand(0));
  if (Name.starts_with("icmp.") || Name.starts_with("fcmp."))
    return emitCompare(B, Call, Name);
  if (!Call.getType()->isVoidTy() && fitsWord(Call.getType()))
    return emitMove(B, Call, Name);
  return std::nullopt;
}

// --- memory ---

Emitted emitAmdgcnMemory(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  // Hints of scheduling and caching.
  for (StringRef Hint : {"sched.barrier", "sched.group.barrier", "s.waitcnt", "s.setprio", "iglp.opt",
                         "s.dcache", "buffer.wbinvl1", "s.nop", "s.icache"})
    if (Name.starts_with(Hint))
      return nullptr;
  if (Name == "is.private")
    return B.getFalse(); // a thread's own variables are plain memory of the host
  if (Name != "is.shared")
    return std::nullopt;
  return emitMemory(B, Call, "isspacep.shared");
}

// --- the runtime's functions ---

static Emitted emitPrintf(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Name == "__ockl_printf_begin" || Name == "__ockl_fprintf_stdout_begin" ||
      Name == "__ockl_fprintf_stderr_begin")
    return callEngine(B, "r3cpu_message_begin", B.getInt64Ty(), {});
  SmallVector<Value *> Arguments(Call.args());
  if (Name == "__ockl_printf_append_string_n")
    return callEngine(B, "r3cpu_message_text", B.getInt64Ty(), Arguments);
  if (Name == "__ockl_printf_append_args")
    return callEngine(B, "r3cpu_message_words", B.getInt64Ty(), Arguments);
  return std::nullopt;
}

Emitted emitOcklCall(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (!Name.starts_with("__ockl_"))
    return std::nullopt;
  if (Emitted Message = emitPrintf(B, Call, Name))
    return Message;
  Type *T = Call.getType();
  if (Name == "__ockl_dm_alloc") {
    Value *Memory = callEngine(B, "malloc", B.getPtrTy(), {Call.getArgOperand(0)});
    return T->isPointerTy() ? Memory : B.CreatePtrToInt(Memory, T);
  }
  if (Name != "__ockl_dm_dealloc")
    return std::nullopt;
  Value *Memory = Call.getArgOperand(0);
  callEngine(B, "free", B.getVoidTy(),
             {Memory->getType()->isPointerTy() ? Memory : B.CreateIntToPtr(Memory, B.getPtrTy())});
  return nullptr;
}

} // namespace r3::cpu
