// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/math.h"

#include "cpu/emitters.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3::cpu {

namespace {

using Emitter = Value *(*)(IRBuilder<> &, CallInst &);

/// One libdevice function: an LLVM intrinsic (which the vectoriser knows), a function of libm, or code of its
/// own.
struct Mapping {
  Intrinsic::ID Intrinsic = Intrinsic::not_intrinsic;
  const char *Function = nullptr;
  Emitter Emit = nullptr;
};

Value *emitIntrinsic(IRBuilder<> &B, CallInst &Call, Intrinsic::ID ID) {
  SmallVector<Value *> Arguments(Call.args());
  return B.CreateIntrinsic(Call.getType(), ID, Arguments);
}

// libm's errno is nobody's business here, so calls without pointers are pure.
Value *emitLibm(IRBuilder<> &B, CallInst &Call, StringRef Name) {
  Module &M = *Call.getModule();
  FunctionCallee Callee = M.getOrInsertFunction(Name, Call.getFunctionType());
  auto *F = cast<Function>(Callee.getCallee());
  F->setDoesNotThrow();
  F->setWillReturn();
  bool Pure = none_of(Call.args(), [](Value *V) { return V->getType()->isPointerTy(); });
  if (Pure)
    F->setDoesNotAccessMemory();
  SmallVector<Value *> Arguments(Call.args());
  CallInst *New = B.CreateCall(Callee, Arguments);
  return New->getType()->isVoidTy() ? nullptr : New;
}

Value *one(CallInst &Call) { return ConstantFP::get(Call.getType(), 1.0); }

Value *emitReciprocalRoot(IRBuilder<> &B, CallInst &Call) {
  return B.CreateFDiv(one(Call), B.CreateUnaryIntrinsic(Intrinsic::sqrt, Call.getArgOperand(0)));
}

// Rounded once, but for what double precision cannot tell apart.
Value *emitRoundedReciprocalRoot(IRBuilder<> &B, CallInst &Call) {
  Value *Wide = B.CreateFPExt(Call.getArgOperand(0), B.getDoubleTy());
  Value *Root = B.CreateUnaryIntrinsic(Intrinsic::sqrt, Wide);
  return B.CreateFPTrunc(B.CreateFDiv(ConstantFP::get(B.getDoubleTy(), 1.0), Root), Call.getType());
}

Value *emitDivision(IRBuilder<> &B, CallInst &Call) {
  return B.CreateFDiv(Call.getArgOperand(0), Call.getArgOperand(1));
}

Value *emitReciprocal(IRBuilder<> &B, CallInst &Call) {
  return B.CreateFDiv(one(Call), Call.getArgOperand(0));
}

Value *emitSubtraction(IRBuilder<> &B, CallInst &Call) {
  return unfused(B, B.CreateFSub(unfused(B, Call.getArgOperand(0)), unfused(B, Call.getArgOperand(1))));
}

Value *emitRemainder(IRBuilder<> &B, CallInst &Call) {
  return B.CreateFRem(Call.getArgOperand(0), Call.getArgOperand(1));
}

Value *emitFastSinCos(IRBuilder<> &B, CallInst &Call) {
  B.CreateStore(B.CreateUnaryIntrinsic(Intrinsic::sin, Call.getArgOperand(0)), Call.getArgOperand(1));
  B.CreateStore(B.CreateUnaryIntrinsic(Intrinsic::cos, Call.getArgOperand(0)), Call.getArgOperand(2));
  return nullptr;
}

Value *emitFirstSet(IRBuilder<> &B, CallInst &Call) {
  Value *X = Call.getArgOperand(0);
  Value *Position = B.CreateAdd(B.CreateBinaryIntrinsic(Intrinsic::cttz, X, B.getFalse()),
                                ConstantInt::get(X->getType(), 1));
  Value *IsZero = B.CreateICmpEQ(X, ConstantInt::get(X->getType(), 0));
  return B.CreateTrunc(B.CreateSelect(IsZero, ConstantInt::get(X->getType(), 0), Position), Call.getType());
}

Value *emitBits(IRBuilder<> &B, CallInst &Call) {
  return B.CreateBitCast(Call.getArgOperand(0), Call.getType());
}

class Table {
public:
  Table() {
    addFloatingPairs();
    addFast();
    addExactlyRounded();
    addInteger();
  }

  const Mapping *find(StringRef Name) const {
    if (!Name.consume_front("__nv_"))
      return nullptr;
    auto It = Entries.find(Name);
    return It == Entries.end() ? nullptr : &It->second;
  }

private:
  void both(StringRef Name, Mapping M) {
    Entries[Name] = M;
    Entries[(Name + "f").str()] = M;
  }

  void addFloatingPairs() {
    const std::pair<const char *, Intrinsic::ID> Intrinsics[] = {{"sqrt", Intrinsic::sqrt},
                                                                 {"fabs", Intrinsic::fabs},
                                                                 {"floor", Intrinsic::floor},
                                                                 {"ceil", Intrinsic::ceil},
                                                                 {"trunc", Intrinsic::trunc},
                                                                 {"rint", Intrinsic::rint},
                                                                 {"nearbyint", Intrinsic::nearbyint},
                                                                 {"round", Intrinsic::round},
                                                                 {"fmin", Intrinsic::minimumnum},
                                                                 {"fmax", Intrinsic::maximumnum},
                                                                 {"fma", Intrinsic::fma},
                                                                 {"copysign", Intrinsic::copysign},
                                                                 {"sin", Intrinsic::sin},
                                                                 {"cos", Intrinsic::cos},
                                                                 {"tan", Intrinsic::tan},
                                                                 {"asin", Intrinsic::asin},
                                                                 {"acos", Intrinsic::acos},
                                                                 {"atan", Intrinsic::atan},
                                                                 {"atan2", Intrinsic::atan2},
                                                                 {"sinh", Intrinsic::sinh},
                                                                 {"cosh", Intrinsic::cosh},
                                                                 {"tanh", Intrinsic::tanh},
                                                                 {"exp", Intrinsic::exp},
                                                                 {"exp2", Intrinsic::exp2},
                                                                 {"exp10", Intrinsic::exp10},
                                                                 {"log", Intrinsic::log},
                                                                 {"log2", Intrinsic::log2},
                                                                 {"log10", Intrinsic::log10},
                                                                 {"pow", Intrinsic::pow}};
    for (auto [Name, ID] : Intrinsics)
      both(Name, {ID, nullptr, nullptr});
    static constexpr const char *Libm[][2] = {{"cbrt", "cbrtf"},
                                              {"erf", "erff"},
                                              {"erfc", "erfcf"},
                                              {"lgamma", "lgammaf"},
                                              {"tgamma", "tgammaf"},
                                              {"log1p", "log1pf"},
                                              {"expm1", "expm1f"},
                                              {"hypot", "hypotf"},
                                              {"acosh", "acoshf"},
                                              {"asinh", "asinhf"},
                                              {"atanh", "atanhf"},
                                              {"j0", "j0f"},
                                              {"j1", "j1f"},
                                              {"jn", "jnf"},
                                              {"y0", "y0f"},
                                              {"y1", "y1f"},
                                              {"yn", "ynf"},
                                              {"nextafter", "nextafterf"},
                                              {"remainder", "remainderf"},
                                              {"remquo", "remquof"},
                                              {"frexp", "frexpf"},
                                              {"modf", "modff"},
                                              {"ldexp", "ldexpf"},
                                              {"scalbn", "scalbnf"},
                                              {"ilogb", "ilogbf"},
                                              {"logb", "logbf"},
                                              {"fdim", "fdimf"},
                                              {"llrint", "llrintf"},
                                              {"llround", "llroundf"},
                                              {"sincos", "sincosf"}};
    for (auto [Double, Float] : Libm) {
      Entries[Double] = {Intrinsic::not_intrinsic, Double, nullptr};
      Entries[Float] = {Intrinsic::not_intrinsic, Float, nullptr};
    }
    both("rsqrt", {Intrinsic::not_intrinsic, nullptr, emitReciprocalRoot});
    both("fmod", {Intrinsic::not_intrinsic, nullptr, emitRemainder});
  }

  // The fast functions are approximations of these on the device: the host's exact values are within their
  // bounds.
  void addFast() {
    const std::pair<const char *, Intrinsic::ID> Fast[] = {
        {"sinf", Intrinsic::sin},   {"cosf", Intrinsic::cos},   {"tanf", Intrinsic::tan},
        {"tanhf", Intrinsic::tanh}, {"expf", Intrinsic::exp},   {"exp10f", Intrinsic::exp10},
        {"logf", Intrinsic::log},   {"log2f", Intrinsic::log2}, {"log10f", Intrinsic::log10},
        {"powf", Intrinsic::pow}};
    for (auto [Name, ID] : Fast)
      Entries[(Twine("fast_") + Name).str()] = {ID, nullptr, nullptr};
    Entries["fast_fdividef"] = {Intrinsic::not_intrinsic, nullptr, emitDivision};
    Entries["fast_sincosf"] = {Intrinsic::not_intrinsic, nullptr, emitFastSinCos};
  }

  void addExactlyRounded() {
    for (StringRef Prefix : {"f", "d"}) {
      Entries[(Prefix + "sub_rn").str()] = {Intrinsic::not_intrinsic, nullptr, emitSubtraction};
      Entries[(Prefix + "div_rn").str()] = {Intrinsic::not_intrinsic, nullptr, emitDivision};
      Entries[(Prefix + "rcp_rn").str()] = {Intrinsic::not_intrinsic, nullptr, emitReciprocal};
      Entries[(Prefix + "sqrt_rn").str()] = {Intrinsic::sqrt, nullptr, nullptr};
    }
    Entries["frsqrt_rn"] = {Intrinsic::not_intrinsic, nullptr, emitRoundedReciprocalRoot};
    for (StringRef Name : {"fma_rn", "fmaf_rn", "fmaf_ieee_rn"})
      Entries[Name] = {Intrinsic::fma, nullptr, nullptr};
  }

  void addInteger() {
    for (StringRef Name : {"ffs", "ffsll"})
      Entries[Name] = {Intrinsic::not_intrinsic, nullptr, emitFirstSet};
    for (StringRef Name : {"int_as_float", "float_as_int", "uint_as_float", "float_as_uint",
                           "longlong_as_double", "double_as_longlong"})
      Entries[Name] = {Intrinsic::not_intrinsic, nullptr, emitBits};
  }

  StringMap<Mapping> Entries;
};

/// The name that libdevice gives a function of ROCm's ocml, where both have the same signature.
std::string libdeviceName(StringRef Name) {
  Name.consume_front("__ocml_");
  bool Native = Name.consume_front("native_");
  bool Single = Name.consume_back("_f32");
  if ((!Single && !Name.consume_back("_f64")) || Name == "sincos" || Name == "sincospi")
    return {};
  return ((Native && Single && !is_contained({"rsqrt", "sqrt"}, Name) ? "__nv_fast_" : "__nv_") + Name +
          (Single ? "f" : ""))
      .str();
}

const Mapping *findMapping(StringRef Name) {
  static const Table Known;
  return Known.find(Name.starts_with("__ocml_") ? libdeviceName(Name) : Name);
}

} // namespace

bool isHostMath(StringRef Name) { return findMapping(Name) != nullptr; }

Value *emitHostMath(IRBuilder<> &Builder, CallInst &Call) {
  const Mapping &M = *findMapping(Call.getCalledFunction()->getName());
  if (M.Emit)
    return M.Emit(Builder, Call);
  if (M.Function)
    return emitLibm(Builder, Call, M.Function);
  return emitIntrinsic(Builder, Call, M.Intrinsic);
}

} // namespace r3::cpu
