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

// CUDA's own headers spell dot products of bytes this way.
static Emitted emitDotProduct(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Dot("^dp4a\\.([su])32\\.([su])32 \\$0, \\$1, \\$2, \\$3$");
  SmallVector<StringRef> Matches;
  if (!Dot.match(Text, &Matches) || Call.arg_size() != 3)
    return std::nullopt;
  return callEngine(B, ("r3cpu_idp4a_" + Matches[1] + Matches[2]).str(), Call.getType(),
                    {Call.getArgOperand(0), Call.getArgOperand(1), Call.getArgOperand(2)});
}

// libdevice spells some of its arithmetic this way: "rcp.approx.ftz.f32 $0,$1;" is the intrinsic
// rcp.approx.ftz.f.
static Emitted emitFloatingOperation(IRBuilder<> &B, CallInst &Call, StringRef Text) {
  static const Regex Operation("^([a-z0-9.]+)\\.f(32|64) +\\$0(,[ ]*\\$[1-3])+$");
  SmallVector<StringRef> Matches;
  if (!Operation.match(Text, &Matches) || !Call.getType()->isFloatingPointTy())
    return std::nullopt;
  return emitArithmetic(B, Call, (Matches[1] + (Matches[2] == "64" ? ".d" : ".f")).str());
}

Emitted emitInlineAsm(IRBuilder<> &B, CallInst &Call, const InlineAsm &Asm) {
  StringRef Text = StringRef(Asm.getAsmString()).trim(" \t\n;");
  if (Text.empty())
    return Call.getType()->isVoidTy() ? Emitted(nullptr) : std::nullopt;
  if (Emitted Move = emitRegisterMove(B, Call, Text))
    return Move;
  if (Emitted Dot = emitDotProduct(B, Call, Text))
    return Dot;
  return emitFloatingOperation(B, Call, Text);
}

} // namespace r3::cpu
