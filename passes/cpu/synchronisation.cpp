// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/emitters.h"

#include "../record_runtime/cpu/module_abi.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace r3::cpu {

static Value *block(CallInst &Call) { return hidden(Call, BlockParameter); }

static Value *argument(CallInst &Call, unsigned I) { return Call.getArgOperand(I); }

static Value *asWord(IRBuilder<> &B, Value *V) {
  return V->getType()->isFloatTy() ? B.CreateBitCast(V, B.getInt32Ty())
                                   : B.CreateZExtOrTrunc(V, B.getInt32Ty());
}

// "barrier.cta.sync.aligned.all(id)", "….count(id, threads)", "barrier.cta.red.popc.aligned.all(id,
// predicate)", …
static Emitted emitBarrier(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  bool Counted = Name.ends_with(".count");
  Value *Count = Counted ? argument(Call, 1) : B.getInt32(0);
  if (Name.starts_with("sync")) {
    callEngine(B, "r3cpu_barrier", B.getVoidTy(), {block(Call), argument(Call, 0), Count});
    return nullptr;
  }
  if (Name.starts_with("arrive")) {
    callEngine(B, "r3cpu_barrier_arrive", B.getVoidTy(), {block(Call), argument(Call, 0), Count});
    return nullptr;
  }
  if (!Name.consume_front("red."))
    return std::nullopt;
  auto Reduction = StringSwitch<unsigned>(Name.split('.').first)
                       .Case("popc", R3CPU_REDUCE_COUNT)
                       .Case("and", R3CPU_REDUCE_AND)
                       .Default(R3CPU_REDUCE_OR);
  Value *Predicate = B.CreateZExt(argument(Call, Counted ? 2 : 1), B.getInt32Ty());
  Value *Result = callEngine(B, "r3cpu_barrier_reduce", B.getInt32Ty(),
                             {block(Call), argument(Call, 0), Count, B.getInt32(Reduction), Predicate});
  return B.CreateZExtOrTrunc(Result, Call.getType());
}

// Splits what the engine packs: the value in the low word, a predicate in bit 32.
static Value *unpack(IRBuilder<> &B, CallInst &Call, Value *Packed, Type *ValueType) {
  Value *Word = B.CreateTrunc(Packed, B.getInt32Ty());
  Value *Result = ValueType->isFloatTy() ? B.CreateBitCast(Word, ValueType) : Word;
  if (!Call.getType()->isStructTy())
    return Result;
  Value *Predicate = B.CreateTrunc(B.CreateLShr(Packed, 32), B.getInt1Ty());
  Value *Pair = B.CreateInsertValue(PoisonValue::get(Call.getType()), Result, 0);
  return B.CreateInsertValue(Pair, Predicate, 1);
}

static Emitted emitShuffle(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  auto Mode = StringSwitch<std::optional<unsigned>>(Name.split('.').first)
                  .Case("up", R3CPU_SHUFFLE_UP)
                  .Case("down", R3CPU_SHUFFLE_DOWN)
                  .Case("bfly", R3CPU_SHUFFLE_XOR)
                  .Case("idx", R3CPU_SHUFFLE_INDEX)
                  .Default(std::nullopt);
  if (!Mode)
    return std::nullopt;
  Value *V = argument(Call, 1);
  Value *Packed = callEngine(B, "r3cpu_shuffle", B.getInt64Ty(),
                             {block(Call), argument(Call, 0), B.getInt32(*Mode), asWord(B, V),
                              argument(Call, 2), argument(Call, 3)});
  return unpack(B, Call, Packed, V->getType());
}

static Emitted emitVote(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  auto Mode = StringSwitch<std::optional<unsigned>>(Name)
                  .Case("all.sync", R3CPU_VOTE_ALL)
                  .Case("any.sync", R3CPU_VOTE_ANY)
                  .Case("uni.sync", R3CPU_VOTE_UNIFORM)
                  .Case("ballot.sync", R3CPU_VOTE_BALLOT)
                  .Default(std::nullopt);
  if (!Mode)
    return std::nullopt;
  Value *Result =
      callEngine(B, "r3cpu_vote", B.getInt32Ty(),
                 {block(Call), argument(Call, 0), B.getInt32(*Mode), asWord(B, argument(Call, 1))});
  return B.CreateZExtOrTrunc(Result, Call.getType());
}

static Emitted emitMatch(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Value *V = B.CreateZExt(argument(Call, 1), B.getInt64Ty());
  if (Name.starts_with("any.sync."))
    return callEngine(B, "r3cpu_match_any", B.getInt32Ty(), {block(Call), argument(Call, 0), V});
  if (!Name.starts_with("all.sync."))
    return std::nullopt;
  Value *Packed = callEngine(B, "r3cpu_match_all", B.getInt64Ty(), {block(Call), argument(Call, 0), V});
  return unpack(B, Call, Packed, B.getInt32Ty());
}

static Emitted emitWarpReduction(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  auto Reduction = StringSwitch<std::optional<unsigned>>(Name)
                       .Case("add", R3CPU_WARP_ADD)
                       .Case("min", R3CPU_WARP_SMIN)
                       .Case("max", R3CPU_WARP_SMAX)
                       .Case("umin", R3CPU_WARP_UMIN)
                       .Case("umax", R3CPU_WARP_UMAX)
                       .Case("and", R3CPU_WARP_AND)
                       .Case("or", R3CPU_WARP_OR)
                       .Case("xor", R3CPU_WARP_XOR)
                       .Default(std::nullopt);
  if (!Reduction)
    return std::nullopt;
  // redux.sync takes the value first, the lanes second.
  return callEngine(B, "r3cpu_warp_reduce", B.getInt32Ty(),
                    {block(Call), argument(Call, 1), B.getInt32(*Reduction), argument(Call, 0)});
}

// Numbers calls of activemask in program order, so that lanes of different branches are not taken for one
// group.
static Value *nextSite(IRBuilder<> &B, CallInst &Call) {
  Module &M = *Call.getModule();
  uint32_t Site = 0;
  if (Function *F = M.getFunction("r3cpu_active_mask"))
    Site = F->getNumUses();
  return B.getInt32(Site);
}

Emitted emitSynchronisation(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Name.consume_front("barrier.cta."))
    return emitBarrier(B, Call, Name);
  if (Name.consume_front("shfl.sync."))
    return emitShuffle(B, Call, Name);
  if (Name.consume_front("vote."))
    return emitVote(B, Call, Name);
  if (Name.consume_front("match."))
    return emitMatch(B, Call, Name);
  if (Name.consume_front("redux.sync."))
    return emitWarpReduction(B, Call, Name);
  if (Name == "activemask")
    return callEngine(B, "r3cpu_active_mask", B.getInt32Ty(), {block(Call), nextSite(B, Call)});
  if (Name == "bar.warp.sync") {
    callEngine(B, "r3cpu_warp_sync", B.getVoidTy(), {block(Call), argument(Call, 0)});
    return nullptr;
  }
  if (Name == "nanosleep") {
    callEngine(B, "r3cpu_yield", B.getVoidTy(), {block(Call)});
    return nullptr;
  }
  if (Name == "exit") {
    callEngine(B, "r3cpu_exit", B.getVoidTy(), {block(Call)});
    return nullptr;
  }
  return std::nullopt;
}

} // namespace r3::cpu
