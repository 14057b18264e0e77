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

Emitted emitInlineAsm(IRBuilder<> &B, CallInst &Call, const InlineAsm &Asm) {
  StringRef Text = StringRef(Asm.getAsmString()).trim(" \t\n;");
  if (Text.empty())
    return Call.getType()->isVoidTy() ? Emitted(nullptr) : std::nullopt;
  static const Regex Move("^mov\\.[us](32|64)[ \t]+\\$0,[ \t]*%+([a-z0-9_.]+)$");
  SmallVector<StringRef> Matches;
  if (!Move.match(Text, &Matches) || !Call.getType()->isIntegerTy())
    return std::nullopt;
  Emitted Value = emitSpecialRegister(B, Call, registerName(Matches[2]));
  if (!Value)
    return std::nullopt;
  return B.CreateZExtOrTrunc(*Value, Call.getType());
}

} // namespace r3::cpu
