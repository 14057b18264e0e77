// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/emitters.h"
#include "cpu/intrinsics.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace r3::cpu {

static std::optional<unsigned> axisOf(StringRef Axis) {
  return StringSwitch<std::optional<unsigned>>(Axis).Case("x", 0).Case("y", 1).Case("z", 2).Default(
      std::nullopt);
}

static Emitted emitPlace(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  auto [Register, AxisName] = Name.split('.');
  auto Axis = axisOf(AxisName);
  if (!Axis)
    return std::nullopt;
  if (Register == "tid")
    return hidden(Call, HiddenParameter(ThreadX + *Axis));
  auto Field = StringSwitch<std::optional<BlockField>>(Register)
                   .Case("ntid", BlockExtentField)
                   .Case("ctaid", BlockIdField)
                   .Case("nctaid", GridField)
                   .Default(std::nullopt);
  if (!Field)
    return std::nullopt;
  return loadBlockField(B, hidden(Call, BlockParameter), *Field, *Axis);
}

Value *emitLinearThread(IRBuilder<> &B, CallInst &Call) {
  Value *Block = hidden(Call, BlockParameter);
  Value *ExtentX = loadBlockField(B, Block, BlockExtentField, 0);
  Value *ExtentY = loadBlockField(B, Block, BlockExtentField, 1);
  Value *Row = B.CreateAdd(B.CreateMul(hidden(Call, ThreadZ), ExtentY), hidden(Call, ThreadY));
  return B.CreateAdd(B.CreateMul(Row, ExtentX), hidden(Call, ThreadX));
}

static Value *emitLane(IRBuilder<> &B, CallInst &Call) { return B.CreateAnd(emitLinearThread(B, Call), 31); }

static Value *emitWarpCount(IRBuilder<> &B, CallInst &Call) {
  Value *Threads = B.getInt32(1);
  for (unsigned Axis = 0; Axis < 3; ++Axis)
    Threads = B.CreateMul(Threads, loadBlockField(B, hidden(Call, BlockParameter), BlockExtentField, Axis));
  return B.CreateLShr(B.CreateAdd(Threads, B.getInt32(31)), 5);
}

static Emitted emitLaneMask(IRBuilder<> &B, CallInst &Call, StringRef Relation) {
  Value *Own = B.CreateShl(B.getInt32(1), emitLane(B, Call));
  Value *Below = B.CreateSub(Own, B.getInt32(1));
  if (Relation == "eq")
    return Own;
  if (Relation == "lt")
    return Below;
  if (Relation == "le")
    return B.CreateOr(Below, Own);
  if (Relation == "ge")
    return B.CreateNot(Below);
  if (Relation == "gt")
    return B.CreateNot(B.CreateOr(Below, Own));
  return std::nullopt;
}

static Emitted emitOther(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Value *Block = hidden(Call, BlockParameter);
  Type *T = Call.getType();
  if (Name == "warpsize")
    return B.getInt32(32);
  if (Name == "laneid")
    return emitLane(B, Call);
  if (Name == "warpid")
    return B.CreateLShr(emitLinearThread(B, Call), 5);
  if (Name == "nwarpid")
    return emitWarpCount(B, Call);
  if (Name == "smid")
    return loadBlockField(B, Block, WorkerField);
  if (Name == "gridid")
    return B.CreateZExtOrTrunc(loadBlockField(B, Block, LaunchField), T);
  if (Name == "dynamic_smem_size")
    return loadBlockField(B, Block, DynamicSharedSizeField);
  if (Name == "total_smem_size")
    return B.CreateAdd(loadBlockField(B, Block, DynamicSharedSizeField),
                       loadBlockField(B, Block, StaticSharedSizeField));
  if (Name == "clock" || Name == "clock64")
    return B.CreateZExtOrTrunc(callEngine(B, "r3cpu_clock", B.getInt64Ty(), {}), T);
  if (Name == "globaltimer" || Name == "globaltimer.lo")
    return B.CreateZExtOrTrunc(callEngine(B, "r3cpu_globaltimer", B.getInt64Ty(), {}), T);
  return std::nullopt;
}

Emitted emitSpecialRegister(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (!Name.consume_front("read.ptx.sreg."))
    return std::nullopt;
  if (Emitted Place = emitPlace(B, Call, Name))
    return Place;
  if (Name.consume_front("lanemask."))
    return emitLaneMask(B, Call, Name);
  return emitOther(B, Call, Name);
}

} // namespace r3::cpu
