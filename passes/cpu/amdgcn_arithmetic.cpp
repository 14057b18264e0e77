// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMDGCN's arithmetic instructions, as ROCm's device libraries and HIP's headers use them. Approximations are
// the host's precise values.
#include "cpu/emitters.h"

#include "llvm/ADT/StringSwitch.h"

using namespace llvm;

namespace r3::cpu {

namespace {

Value *one(Type *T) { return ConstantFP::get(T, 1.0); }

Value *argument(CallInst &Call, unsigned I) { return Call.getArgOperand(I); }

/// sin and cos take revolutions.
Value *emitTurn(IRBuilder<> &B, CallInst &Call, Intrinsic::ID ID) {
  constexpr double TwoPi = 6.283185307179586;
  return B.CreateUnaryIntrinsic(ID, B.CreateFMul(argument(Call, 0), ConstantFP::get(Call.getType(), TwoPi)));
}

Value *emitFraction(IRBuilder<> &B, CallInst &Call) {
  Value *X = argument(Call, 0);
  return B.CreateFSub(X, B.CreateUnaryIntrinsic(Intrinsic::floor, X));
}

Emitted emitApproximated(IRBuilder<> &B, CallInst &Call, StringRef Operation) {
  Type *T = Call.getType();
  if (Operation == "rcp")
    return B.CreateFDiv(one(T), argument(Call, 0));
  if (Operation == "rsq" || Operation == "rsqrt")
    return B.CreateFDiv(one(T), B.CreateUnaryIntrinsic(Intrinsic::sqrt, argument(Call, 0)));
  if (Operation == "sin" || Operation == "cos")
    return emitTurn(B, Call, Operation == "sin" ? Intrinsic::sin : Intrinsic::cos);
  if (Operation == "fract")
    return emitFraction(B, Call);
  auto ID = StringSwitch<Intrinsic::ID>(Operation)
                .Case("sqrt", Intrinsic::sqrt)
                .Case("log", Intrinsic::log2)
                .Case("exp2", Intrinsic::exp2)
                .Default(Intrinsic::not_intrinsic);
  if (ID == Intrinsic::not_intrinsic)
    return std::nullopt;
  return B.CreateUnaryIntrinsic(ID, argument(Call, 0));
}

/// Operands of a division are scaled only where they would overflow: here the fixup divides by itself.
Emitted emitDivision(IRBuilder<> &B, CallInst &Call, StringRef Operation) {
  if (Operation == "div.scale") {
    bool Numerator = cast<ConstantInt>(argument(Call, 2))->isOne();
    Value *Pair = B.CreateInsertValue(PoisonValue::get(Call.getType()), argument(Call, Numerator ? 0 : 1), 0);
    return B.CreateInsertValue(Pair, B.getFalse(), 1);
  }
  if (Operation == "div.fmas")
    return B.CreateIntrinsic(Intrinsic::fma, {Call.getType()},
                             {argument(Call, 0), argument(Call, 1), argument(Call, 2)});
  if (Operation == "div.fixup")
    return B.CreateFDiv(argument(Call, 2), argument(Call, 1));
  return std::nullopt;
}

Emitted emitParts(IRBuilder<> &B, CallInst &Call, StringRef Operation) {
  Value *X = argument(Call, 0);
  if (Operation == "ldexp")
    return B.CreateIntrinsic(Intrinsic::ldexp, {Call.getType(), argument(Call, 1)->getType()},
                             {X, argument(Call, 1)});
  if (Operation == "class")
    return B.CreateIntrinsic(Intrinsic::is_fpclass, {X->getType()},
                             {X, B.getInt32(cast<ConstantInt>(argument(Call, 1))->getZExtValue() & 0x3ff)});
  if (Operation != "frexp.mant" && Operation != "frexp.exp")
    return std::nullopt;
  Value *Pair = B.CreateIntrinsic(Intrinsic::frexp, {X->getType(), B.getInt32Ty()}, {X});
  bool Mantissa = Operation == "frexp.mant";
  Value *Part = B.CreateExtractValue(Pair, Mantissa ? 0 : 1);
  return Mantissa ? Part : B.CreateSExtOrTrunc(Part, Call.getType());
}

/// The middle one of three.
Value *emitMedian(IRBuilder<> &B, CallInst &Call, Intrinsic::ID Least, Intrinsic::ID Most) {
  Value *X = argument(Call, 0), *Y = argument(Call, 1), *Z = argument(Call, 2);
  Value *Low = B.CreateBinaryIntrinsic(Least, X, Y), *High = B.CreateBinaryIntrinsic(Most, X, Y);
  return B.CreateBinaryIntrinsic(Most, Low, B.CreateBinaryIntrinsic(Least, High, Z));
}

/// Bits of the word that begins at a bit.
Value *emitField(IRBuilder<> &B, CallInst &Call, bool Signed) {
  Type *T = B.getInt64Ty();
  Value *Offset = B.CreateAnd(B.CreateZExt(argument(Call, 1), T), 31),
        *Width = B.CreateAnd(B.CreateZExt(argument(Call, 2), T), 31);
  Value *Rest = B.CreateLShr(B.CreateZExt(argument(Call, 0), T), Offset);
  Value *Up = B.CreateSub(B.getInt64(64), Width);
  Value *Top = B.CreateShl(Rest, B.CreateAnd(Up, 63));
  Value *Field = Signed ? B.CreateAShr(Top, B.CreateAnd(Up, 63)) : B.CreateLShr(Top, B.CreateAnd(Up, 63));
  Value *None = B.CreateICmpEQ(Width, B.getInt64(0));
  return B.CreateTrunc(B.CreateSelect(None, B.getInt64(0), Field), Call.getType());
}

Value *low24(IRBuilder<> &B, Value *V, bool Signed) {
  Value *Shifted = B.CreateShl(V, 8);
  return Signed ? B.CreateAShr(Shifted, 8) : B.CreateLShr(Shifted, 8);
}

Emitted emitInteger(IRBuilder<> &B, CallInst &Call, StringRef Operation) {
  if (Operation == "mul.u24" || Operation == "mul.i24") {
    bool Signed = Operation.ends_with("i24");
    return B.CreateZExtOrTrunc(
        B.CreateMul(low24(B, argument(Call, 0), Signed), low24(B, argument(Call, 1), Signed)),
        Call.getType());
  }
  if (Operation == "ubfe" || Operation == "sbfe")
    return emitField(B, Call, Operation == "sbfe");
  if (Operation == "alignbyte" || Operation == "alignbit") {
    Value *Shift =
        Operation == "alignbyte" ? B.CreateShl(B.CreateAnd(argument(Call, 2), 3), 3) : argument(Call, 2);
    return B.CreateIntrinsic(Intrinsic::fshr, {Call.getType()},
                             {argument(Call, 0), argument(Call, 1), Shift});
  }
  if (Operation == "perm") // selectors 0 to 7 alone are what headers use
    return callEngine(B, "r3cpu_permute_bytes", Call.getType(),
                      {argument(Call, 1), argument(Call, 0), argument(Call, 2)});
  if (Operation == "sdot4" || Operation == "udot4")
    return callEngine(B, Operation == "sdot4" ? "r3cpu_idp4a_ss" : "r3cpu_idp4a_uu", Call.getType(),
                      {argument(Call, 0), argument(Call, 1), argument(Call, 2)});
  return std::nullopt;
}

} // namespace

Emitted emitAmdgcnArithmetic(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  if (Call.arg_size() == 0)
    return std::nullopt;
  // "rcp.f32", "frexp.exp.i32.f64": what stands in front of the types.
  StringRef Operation = Name;
  for (StringRef Types : {".i32.f32", ".i32.f64", ".i16.f16", ".f16", ".f32", ".f64", ".i32", ".legacy"})
    if (Operation.consume_back(Types))
      break;
  if (Operation == "fmed3")
    return emitMedian(B, Call, Intrinsic::minnum, Intrinsic::maxnum);
  for (auto Family : {emitApproximated, emitDivision, emitParts, emitInteger})
    if (Emitted Value = Family(B, Call, Operation))
      return Value;
  return std::nullopt;
}

} // namespace r3::cpu
