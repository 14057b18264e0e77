// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/inline_asm.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

using namespace llvm;

namespace r3::cpu {

// "%lanemask_lt" is "lanemask.lt" among the intrinsics.
static std::string registerName(StringRef Text) {
  std::string Name = Text.str();
  if (StringRef(Name).starts_with("lanemask_"))
    Name[strlen("lanemask")] = '.';
  return "read.ptx.sreg." + Name;
}

static Emitted emitRegisterMove(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Move("^mov\\.[us](32|64)[ \t]+\\$0,[ \t]*%+([a-z0-9_.]+)$");
  SmallVector<StringRef> Matches;
  if (!Move.match(Text, &Matches) || !Call.getType()->isIntegerTy())
    return std::nullopt;
  Emitted Value = emitSpecialRegister(B, Call, registerName(Matches[2]));
  if (!Value)
    return std::nullopt;
  return B.CreateZExtOrTrunc(*Value, Call.getType());
}

static Value *part(IRBuilder<> &B, Value *V, unsigned First, unsigned Bits, bool Signed) {
  Value *Part = B.CreateTrunc(B.CreateLShr(V, First), B.getIntNTy(Bits));
  return Signed ? B.CreateSExt(Part, V->getType()) : B.CreateZExt(Part, V->getType());
}

// "dp2a.lo.s32.u32 $0, $1, $2, $3": two halves of a word by two bytes of another, and a sum.
static Emitted emitHalvesProduct(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Dot("^dp2a\\.(lo|hi)\\.([su])32\\.([su])32 \\$0, \\$1, \\$2, \\$3$");
  SmallVector<StringRef> Matches;
  if (!Dot.match(Text, &Matches) || Call.arg_size() != 3)
    return std::nullopt;
  Value *Sum = Call.getArgOperand(2);
  for (unsigned I = 0; I < 2; ++I) {
    Value *Half = part(B, Call.getArgOperand(0), 16 * I, 16, Matches[2] == "s");
    unsigned Byte = (Matches[1] == "hi" ? 2 : 0) + I;
    Sum = B.CreateAdd(Sum, B.CreateMul(Half, part(B, Call.getArgOperand(1), 8 * Byte, 8, Matches[3] == "s")));
  }
  return Sum;
}

// CUDA's own headers spell dot products of bytes this way.
static Emitted emitDotProduct(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Dot("^dp4a\\.([su])32\\.([su])32 \\$0, \\$1, \\$2, \\$3$");
  SmallVector<StringRef> Matches;
  if (!Dot.match(Text, &Matches) || Call.arg_size() != 3)
    return std::nullopt;
  return callEngine(B, ("r3cpu_idp4a_" + Matches[1] + Matches[2]).str(), Call.getType(),
                    {Call.getArgOperand(0), Call.getArgOperand(1), Call.getArgOperand(2)});
}

/// The operands in the order in which the text names them, "$2, $1" being the second and the first; nothing
/// if it names one that the call does not have.
static std::optional<SmallVector<Value *>> operandsOf(CallInst &Call, StringRef Text) {
  SmallVector<Value *> Operands;
  SmallVector<StringRef> Names;
  Text.split(Names, '$', -1, /*KeepEmpty=*/false);
  for (StringRef Name : Names) {
    unsigned Number = 0;
    if (Name.consumeInteger(10, Number) || Number == 0 || Number > Call.arg_size())
      return std::nullopt;
    Operands.push_back(Call.getArgOperand(Number - 1));
  }
  return Operands;
}

// libdevice spells some of its arithmetic this way: "rcp.approx.ftz.f32 $0,$1;" is the intrinsic
// rcp.approx.ftz.f.
static Emitted emitFloatingOperation(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Operation("^([a-z0-9.]+)\\.f(32|64)[ \t]+\\$0((,[ \t]*\\$[1-3])+)$");
  SmallVector<StringRef> Matches;
  if (!Operation.match(Text, &Matches) || !Call.getType()->isFloatingPointTy())
    return std::nullopt;
  StringRef Sources = Matches[3].trim(", \t");
  auto Operands = operandsOf(Call, Sources);
  if (!Operands || any_of(*Operands, [&](Value *V) { return V->getType() != Call.getType(); }))
    return std::nullopt;
  // Emitters read a call's operands: one that has them in order stands in for the length of this.
  SmallVector<Type *> Types(Operands->size(), Call.getType());
  auto *Shape = FunctionType::get(Call.getType(), Types, false);
  CallInst *Ordered = B.CreateCall(Shape, PoisonValue::get(B.getPtrTy()), *Operands);
  Emitted Result = emitArithmetic(B, *Ordered, (Matches[1] + (Matches[2] == "64" ? ".d" : ".f")).str());
  Ordered->eraseFromParent();
  return Result;
}

Emitted emitInlineAsm(IRBuilder<> &B, CallInst &Call, const InlineAsm &Asm) {
  StringRef Text = StringRef(Asm.getAsmString()).trim(" \t\n;");
  if (Text.empty())
    return Call.getType()->isVoidTy() ? Emitted(nullptr) : std::nullopt;
  if (Emitted Move = emitRegisterMove(B, Call, Text))
    return Move;
  for (auto Family : {emitDotProduct, emitHalvesProduct})
    if (Emitted Dot = Family(B, Call, Text))
      return Dot;
  return emitFloatingOperation(B, Call, Text);
}

} // namespace r3::cpu
