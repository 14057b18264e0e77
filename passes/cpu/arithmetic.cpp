// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/emitters.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/Intrinsics.h"

using namespace llvm;

namespace r3::cpu {

Value *unfused(IRBuilder<> &B, Value *V) {
  if (!V->getType()->isFloatTy() && !V->getType()->isDoubleTy())
    return V;
  return B.CreateUnaryIntrinsic(Intrinsic::arithmetic_fence, V);
}

namespace {

/// An intrinsic's name in its parts: "sqrt.rn.ftz.f" is operation sqrt, modifiers rn and ftz, type f.
struct Parts {
  StringRef Operation;
  SmallVector<StringRef> Modifiers;

  explicit Parts(StringRef Name) {
    SmallVector<StringRef> All;
    Name.split(All, '.');
    Operation = All.front();
    Modifiers.assign(All.begin() + 1, All.end());
  }
  bool has(StringRef Modifier) const { return is_contained(Modifiers, Modifier); }
  /// "rz", "rm" or "rp": what the host's default rounding does not do; else "".
  StringRef directedRounding() const {
    for (StringRef M : {"rz", "rm", "rp"})
      if (has(M))
        return M;
    return "";
  }
};

StringRef suffix(Type *T) { return T->isDoubleTy() ? "d" : "f"; }

// libr3cpu rounds these in software: changing the rounding mode around one instruction is not sound in LLVM.
Value *emitDirected(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  SmallVector<Value *> Arguments(Call.args());
  std::string Name =
      ("r3cpu_" + P.Operation + "_" + P.directedRounding() + "_" + suffix(Call.getType())).str();
  return callEngine(B, Name, Call.getType(), Arguments);
}

// Not a number becomes zero.
Value *saturate(IRBuilder<> &B, Value *V) {
  Value *Low = B.CreateBinaryIntrinsic(Intrinsic::maximumnum, V, ConstantFP::get(V->getType(), 0.0));
  return B.CreateBinaryIntrinsic(Intrinsic::minimumnum, Low, ConstantFP::get(V->getType(), 1.0));
}

Value *emitRoundedOperation(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  Value *X = Call.getArgOperand(0);
  Value *Y = Call.arg_size() > 1 ? Call.getArgOperand(1) : nullptr;
  if (P.Operation == "add")
    return unfused(B, B.CreateFAdd(unfused(B, X), unfused(B, Y)));
  if (P.Operation == "mul")
    return unfused(B, B.CreateFMul(X, Y));
  if (P.Operation == "div")
    return B.CreateFDiv(X, Y);
  if (P.Operation == "rcp")
    return B.CreateFDiv(ConstantFP::get(X->getType(), 1.0), X);
  if (P.Operation == "sqrt")
    return B.CreateUnaryIntrinsic(Intrinsic::sqrt, X);
  return B.CreateIntrinsic(Call.getType(), Intrinsic::fma, {X, Y, Call.getArgOperand(2)});
}

Value *emitSubtraction(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  Value *X = Call.getArgOperand(0);
  Value *Y = Call.getArgOperand(1);
  if (P.directedRounding().empty())
    return unfused(B, B.CreateFSub(unfused(B, X), unfused(B, Y)));
  std::string Name = ("r3cpu_add_" + P.directedRounding() + "_" + suffix(Call.getType())).str();
  return callEngine(B, Name, Call.getType(), {X, B.CreateFNeg(Y)});
}

Emitted emitFloat(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  if (P.Operation == "sub")
    return emitSubtraction(B, Call, P);
  if (!is_contained({"add", "mul", "div", "rcp", "sqrt", "fma"}, P.Operation))
    return std::nullopt;
  if (!Call.getType()->isFPOrFPVectorTy())
    return std::nullopt;
  bool IsDirected = !P.directedRounding().empty() && !Call.getType()->isVectorTy();
  Value *Result = IsDirected ? emitDirected(B, Call, P) : emitRoundedOperation(B, Call, P);
  if (P.has("sat"))
    return saturate(B, Result);
  if (P.has("relu"))
    return B.CreateBinaryIntrinsic(Intrinsic::maximum, Result, ConstantFP::get(Result->getType(), 0.0));
  return Result;
}

Emitted emitApproximation(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  Value *X = Call.getArgOperand(0);
  if (P.Operation == "rsqrt")
    return B.CreateFDiv(ConstantFP::get(X->getType(), 1.0), B.CreateUnaryIntrinsic(Intrinsic::sqrt, X));
  auto ID = StringSwitch<Intrinsic::ID>(P.Operation)
                .Case("sin", Intrinsic::sin)
                .Case("cos", Intrinsic::cos)
                .Case("tanh", Intrinsic::tanh)
                .Case("lg2", Intrinsic::log2)
                .Case("ex2", Intrinsic::exp2)
                .Case("floor", Intrinsic::floor)
                .Case("ceil", Intrinsic::ceil)
                .Case("trunc", Intrinsic::trunc)
                .Case("round", Intrinsic::roundeven)
                .Case("fabs", Intrinsic::fabs)
                .Default(Intrinsic::not_intrinsic);
  if (ID == Intrinsic::not_intrinsic || !X->getType()->isFPOrFPVectorTy())
    return std::nullopt;
  return B.CreateUnaryIntrinsic(ID, X);
}

Emitted emitMinMax(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  bool Minimum = P.Operation == "fmin";
  if ((!Minimum && P.Operation != "fmax") || P.has("xorsign"))
    return std::nullopt;
  Intrinsic::ID ID = P.has("nan") ? (Minimum ? Intrinsic::minimum : Intrinsic::maximum)
                                  : (Minimum ? Intrinsic::minimumnum : Intrinsic::maximumnum);
  return B.CreateBinaryIntrinsic(ID, Call.getArgOperand(0), Call.getArgOperand(1));
}

Value *roundToInteger(IRBuilder<> &B, Value *X, const Parts &P) {
  if (P.has("rz"))
    return X;
  Intrinsic::ID ID = P.has("rm") ? Intrinsic::floor : P.has("rp") ? Intrinsic::ceil : Intrinsic::roundeven;
  return B.CreateUnaryIntrinsic(ID, X);
}

// "d2i.rz", "f2ull.rn.ftz", …: PTX saturates, and so do these. What is no number becomes zero in PTX where
// both sides have 32 bits, else the integer's top bit.
Emitted emitToInteger(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  Value *X = Call.getArgOperand(0);
  bool Unsigned = P.Operation.ends_with("ull") || P.Operation.ends_with("ui");
  Value *Saturated = B.CreateIntrinsic(Unsigned ? Intrinsic::fptoui_sat : Intrinsic::fptosi_sat,
                                       {Call.getType(), X->getType()}, {roundToInteger(B, X, P)});
  if (X->getType()->isFloatTy() && Call.getType()->isIntegerTy(32))
    return Saturated;
  APInt Top = APInt::getSignMask(Call.getType()->getIntegerBitWidth());
  return B.CreateSelect(B.CreateFCmpUNO(X, X), ConstantInt::get(Call.getType(), Top), Saturated);
}

Emitted emitFromInteger(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  Value *X = Call.getArgOperand(0);
  bool Unsigned = P.Operation.starts_with("u");
  // Every 32-bit integer is a double, so rounding does not come into it.
  bool Exact = Call.getType()->isDoubleTy() && X->getType()->isIntegerTy(32);
  if (!Exact && !P.directedRounding().empty()) {
    std::string Name = ("r3cpu_" + P.Operation + "_" + P.directedRounding()).str();
    return callEngine(B, Name, Call.getType(), {X});
  }
  return Unsigned ? B.CreateUIToFP(X, Call.getType()) : B.CreateSIToFP(X, Call.getType());
}

Emitted emitConversion(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  if (Call.arg_size() != 1)
    return std::nullopt;
  Value *X = Call.getArgOperand(0);
  if (is_contained({"d2i", "d2ui", "d2ll", "d2ull", "f2i", "f2ui", "f2ll", "f2ull"}, P.Operation))
    return emitToInteger(B, Call, P);
  if (is_contained({"i2d", "ui2d", "ll2d", "ull2d", "i2f", "ui2f", "ll2f", "ull2f"}, P.Operation))
    return emitFromInteger(B, Call, P);
  if (P.Operation == "d2f")
    return P.directedRounding().empty()
               ? B.CreateFPTrunc(X, Call.getType())
               : callEngine(B, ("r3cpu_d2f_" + P.directedRounding()).str(), Call.getType(), {X});
  if (P.Operation == "f2h" && P.directedRounding().empty())
    return B.CreateBitCast(B.CreateFPTrunc(X, B.getHalfTy()), B.getInt16Ty());
  return std::nullopt;
}

Emitted emitDoubleWords(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Value *X = Call.getArgOperand(0);
  if (Name == "d2i.lo" || Name == "d2i.hi") {
    Value *Bits = B.CreateBitCast(X, B.getInt64Ty());
    return B.CreateTrunc(Name == "d2i.hi" ? B.CreateLShr(Bits, 32) : Bits, B.getInt32Ty());
  }
  if (Name != "lohi.i2d")
    return std::nullopt;
  Value *Low = B.CreateZExt(X, B.getInt64Ty());
  Value *High = B.CreateShl(B.CreateZExt(Call.getArgOperand(1), B.getInt64Ty()), 32);
  return B.CreateBitCast(B.CreateOr(Low, High), B.getDoubleTy());
}

Value *highHalf(IRBuilder<> &B, CallInst &Call, bool Signed) {
  Type *T = Call.getType();
  unsigned Bits = T->getIntegerBitWidth();
  Type *Wide = B.getIntNTy(2 * Bits);
  auto Extend = [&](Value *V) { return Signed ? B.CreateSExt(V, Wide) : B.CreateZExt(V, Wide); };
  Value *Product = B.CreateMul(Extend(Call.getArgOperand(0)), Extend(Call.getArgOperand(1)));
  return B.CreateTrunc(B.CreateLShr(Product, Bits), T);
}

Value *absoluteDifference(IRBuilder<> &B, CallInst &Call, bool Signed) {
  Value *X = Call.getArgOperand(0);
  Value *Y = Call.getArgOperand(1);
  Value *Larger = B.CreateBinaryIntrinsic(Signed ? Intrinsic::smax : Intrinsic::umax, X, Y);
  Value *Smaller = B.CreateBinaryIntrinsic(Signed ? Intrinsic::smin : Intrinsic::umin, X, Y);
  return B.CreateAdd(B.CreateSub(Larger, Smaller), Call.getArgOperand(2));
}

Value *low24(IRBuilder<> &B, Value *V, bool Signed) {
  Value *Shifted = B.CreateShl(V, 8);
  return Signed ? B.CreateAShr(Shifted, 8) : B.CreateLShr(Shifted, 8);
}

Emitted emitInteger(IRBuilder<> &B, CallInst &Call, const Parts &P) {
  bool Signed = P.Modifiers.size() == 1 && !P.Modifiers[0].starts_with("u");
  if (P.Operation == "mulhi")
    return highHalf(B, Call, Signed);
  if (P.Operation == "sad")
    return absoluteDifference(B, Call, Signed);
  if (P.Operation == "mul24")
    return B.CreateMul(low24(B, Call.getArgOperand(0), Signed), low24(B, Call.getArgOperand(1), Signed));
  if (P.Operation == "prmt" && P.Modifiers.empty())
    return callEngine(B, "r3cpu_permute_bytes", Call.getType(),
                      {Call.getArgOperand(0), Call.getArgOperand(1), Call.getArgOperand(2)});
  if (P.Operation == "idp4a")
    return callEngine(B, ("r3cpu_idp4a_" + P.Modifiers[0] + P.Modifiers[1]).str(), Call.getType(),
                      {Call.getArgOperand(0), Call.getArgOperand(1), Call.getArgOperand(2)});
  return std::nullopt;
}

} // namespace

Emitted emitArithmetic(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Call.arg_size() == 0)
    return std::nullopt;
  Parts P(Name);
  if (P.Operation == "saturate")
    return saturate(B, Call.getArgOperand(0));
  if (Emitted Words = emitDoubleWords(B, Call, Name))
    return Words;
  for (auto Family : {emitFloat, emitMinMax, emitConversion, emitInteger, emitApproximation})
    if (Emitted Value = Family(B, Call, P))
      return Value;
  return std::nullopt;
}

} // namespace r3::cpu
