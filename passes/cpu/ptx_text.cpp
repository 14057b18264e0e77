// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/ptx_text.h"

#include "cpu/emitters.h"
#include "cpu/ptx_memory.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace r3::cpu {

// Lines and runs of blanks differ between releases of CUB; the words do not.
static std::string oneLine(StringRef Text) {
  std::string Line;
  for (char C : Text) {
    bool Blank = C == '\n' || C == '\t' || C == ' ';
    if (!Blank)
      Line += C;
    else if (!Line.empty() && Line.back() != ' ')
      Line += ' ';
  }
  return StringRef(Line).trim(" ;").str();
}

// "{ .reg .pred p; isspacep.global p, $1; @p atom.add.global.gpu.s32 …; @!p atom.add.gpu.s32 …; }" of desul,
// and so of Kokkos: one instruction for memory of any kind, which the host's all are.
static std::string withoutSpaceTest(std::string Text) {
  static const Regex Form("^{ \\.reg \\.pred ([a-z]+); isspacep\\.global ([a-z]+), \\$[0-9]; "
                          "@([a-z]+) ([^;]+); @!([a-z]+) ([^;]+); ?}$");
  SmallVector<StringRef> Parts;
  if (!Form.match(Text, &Parts) || !all_equal({Parts[1], Parts[2], Parts[3], Parts[5]}))
    return Text;
  constexpr StringRef Space = ".global";
  auto [Before, Behind] = Parts[4].split(Space);
  return Before.str() + Behind.str() == Parts[6] ? Parts[6].str() : Text;
}

static Value *argument(CallInst &Call, unsigned I) { return Call.getArgOperand(I); }

// PTX shifts by the width or more give zero; LLVM's give poison.
static Value *shift(IRBuilder<> &B, bool Left, Value *V, Value *Distance) {
  Type *T = V->getType();
  Value *Wide = B.CreateZExtOrTrunc(Distance, T);
  Value *Inside = B.CreateICmpULT(Distance, ConstantInt::get(Distance->getType(), T->getIntegerBitWidth()));
  Value *Shifted = Left ? B.CreateShl(V, Wide) : B.CreateLShr(V, Wide);
  return B.CreateSelect(Inside, Shifted, ConstantInt::get(T, 0));
}

// "shf.l.wrap.b32 $0, $1, $2, $3": the upper word of {$2, $1} shifted left, or the lower one shifted right.
static Value *funnelShift(IRBuilder<> &B, CallInst &Call, bool Left, bool Clamps) {
  Value *Low = argument(Call, 0), *High = argument(Call, 1), *Distance = argument(Call, 2);
  Value *Shifted =
      B.CreateIntrinsic(Left ? Intrinsic::fshl : Intrinsic::fshr, {Low->getType()}, {High, Low, Distance});
  if (!Clamps)
    return Shifted;
  return B.CreateSelect(B.CreateICmpULT(Distance, B.getInt32(32)), Shifted, Left ? Low : High);
}

static Emitted rewriteBits(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Shift("^sh([lr])\\.b(32|64) \\$0, \\$1, \\$2$");
  static const Regex Funnel("^shf\\.([lr])\\.(clamp|wrap)\\.b32 \\$0, \\$1, \\$2, \\$3$");
  SmallVector<StringRef> Parts;
  if (Funnel.match(Text, &Parts))
    return funnelShift(B, Call, Parts[1] == "l", Parts[2] == "clamp");
  if (Shift.match(Text, &Parts))
    return shift(B, Parts[1] == "l", argument(Call, 0), argument(Call, 1));
  if (Text != "bmsk.clamp.b32 $0, $1, $2")
    return std::nullopt;
  Value *One = B.getInt32(1);
  Value *Ones = B.CreateSub(shift(B, true, One, argument(Call, 1)), One);
  return shift(B, true, Ones, argument(Call, 0));
}

static std::optional<Intrinsic::ID> shuffleOf(StringRef Mode) {
  return StringSwitch<std::optional<Intrinsic::ID>>(Mode)
      .Case("up", Intrinsic::nvvm_shfl_sync_up_i32p)
      .Case("down", Intrinsic::nvvm_shfl_sync_down_i32p)
      .Case("bfly", Intrinsic::nvvm_shfl_sync_bfly_i32p)
      .Case("idx", Intrinsic::nvvm_shfl_sync_idx_i32p)
      .Default(std::nullopt);
}

// Operands are value, lane, clamp, members; the intrinsic takes the members first.
static Emitted rewriteShuffle(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Shuffle("^shfl\\.sync\\.([a-z]+)\\.b32 \\$0, \\$1, \\$2, \\$3, \\$4$");
  SmallVector<StringRef> Parts;
  if (!Shuffle.match(Text, &Parts))
    return std::nullopt;
  std::optional<Intrinsic::ID> ID = shuffleOf(Parts[1]);
  if (!ID)
    return std::nullopt;
  Value *Pair =
      B.CreateIntrinsic(*ID, {argument(Call, 3), argument(Call, 0), argument(Call, 1), argument(Call, 2)});
  return B.CreateExtractValue(Pair, 0);
}

// A step of a warp's scan: adds the value of a lower lane, where there is one in the segment.
static Emitted rewriteScanStep(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Step("shfl\\.sync\\.up\\.b32 (r0|lo)\\|p, .*@p add\\.[us](32|64) r0, r0, \\$4; "
                          "mov\\.[us](32|64) \\$0, r0;? ?}$");
  if (!Step.match(Text) || Call.arg_size() != 5)
    return std::nullopt;
  Value *V = argument(Call, 0), *From = B.getIntN(V->getType()->getIntegerBitWidth(), 0), *Inside = nullptr;
  for (unsigned Bit = 0; Bit < V->getType()->getIntegerBitWidth(); Bit += 32) {
    Value *Word = B.CreateTrunc(B.CreateLShr(V, Bit), B.getInt32Ty());
    Value *Pair = B.CreateIntrinsic(Intrinsic::nvvm_shfl_sync_up_i32p,
                                    {argument(Call, 4), Word, argument(Call, 1), argument(Call, 2)});
    From = B.CreateOr(From, B.CreateShl(B.CreateZExt(B.CreateExtractValue(Pair, 0), V->getType()), Bit));
    Inside = B.CreateExtractValue(Pair, 1);
  }
  return B.CreateSelect(Inside, B.CreateAdd(From, argument(Call, 3)), From);
}

// CUB ranks keys by the lanes that share a bit: those that have it, or those that have it not.
static Emitted rewriteBallot(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  if (Text !=
      "{ .reg .pred p; and.b32 $0, $1, $2; setp.ne.u32 p, $0, 0; vote.ballot.sync.b32 $0, p, 0xffffffff; "
      "@!p not.b32 $0, $0; }")
    return std::nullopt;
  Value *Set = B.CreateICmpNE(B.CreateAnd(argument(Call, 0), argument(Call, 1)), B.getInt32(0));
  Value *Lanes = B.CreateIntrinsic(Intrinsic::nvvm_vote_ballot_sync, {B.getInt32(~0u), Set});
  return B.CreateSelect(Set, Lanes, B.CreateNot(Lanes));
}

/// "$1" or "64".
static Value *operandOf(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  unsigned Number = 0;
  if (!Text.consume_front("$"))
    return Text.getAsInteger(0, Number) ? nullptr : B.getInt32(Number);
  if (Text.getAsInteger(10, Number) || Number >= Call.arg_size())
    return nullptr;
  return B.CreateZExtOrTrunc(argument(Call, Number), B.getInt32Ty());
}

// "bar.sync 1, 64": barriers other than __syncthreads() have no other spelling in CUDA.
static Emitted rewriteBarrier(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Form("^bar(rier)?(\\.cta)?\\.(sync|arrive)(\\.aligned)? ([$0-9]+)(, ([$0-9]+))?$");
  SmallVector<StringRef> Parts;
  if (!Form.match(Text, &Parts))
    return std::nullopt;
  Value *Barrier = operandOf(B, Call, Parts[5]);
  Value *Count = Parts[7].empty() ? nullptr : operandOf(B, Call, Parts[7]);
  bool Arrives = Parts[3] == "arrive";
  if (!Barrier || (!Count && (Arrives || !Parts[7].empty())))
    return std::nullopt;
  if (Arrives)
    return B.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_arrive_count, {Barrier, Count});
  return Count ? B.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_count, {Barrier, Count})
               : B.CreateIntrinsic(Intrinsic::nvvm_barrier_cta_sync_all, {Barrier});
}

static Emitted rewriteControl(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  if (Text == "nanosleep.u32 $0")
    return B.CreateIntrinsic(Intrinsic::nvvm_nanosleep, {argument(Call, 0)});
  if (Text == "exit")
    return B.CreateIntrinsic(Intrinsic::nvvm_exit, {});
  return std::nullopt;
}

static void rewriteCall(CallInst &Call, const InlineAsm &Asm) {
  IRBuilder<> B(&Call);
  std::string Text = withoutSpaceTest(oneLine(Asm.getAsmString()));
  for (auto Family : {rewriteMemoryText, rewriteBits, rewriteShuffle, rewriteScanStep, rewriteBallot,
                      rewriteBarrier, rewriteControl}) {
    Emitted Result = Family(B, Call, Text);
    if (!Result)
      continue;
    if (!Call.getType()->isVoidTy())
      Call.replaceAllUsesWith(*Result);
    Call.eraseFromParent();
    return;
  }
}

void rewritePtxText(Module &Device) {
  for (Function &F : Device)
    for (Instruction &I : make_early_inc_range(instructions(F)))
      if (auto *Call = dyn_cast<CallInst>(&I))
        if (auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand()))
          rewriteCall(*Call, *Asm);
}

} // namespace r3::cpu
