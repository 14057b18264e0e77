// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/access_strides.h"

#include "common/analyses.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"

using namespace llvm;

namespace r3 {

namespace {

constexpr unsigned SharedSpace = 3, ConstantSpace = 4, LocalSpace = 5;
/// A quotient by at least this is taken for the same in neighbouring threads: few warps hold a step of it.
constexpr int64_t LargeDivisor = 32;
/// Values that come from a longer chain of others are taken to differ; it bounds the stack.
constexpr unsigned DeepestSearch = 200;
constexpr Intrinsic::ID ThreadIndex[3][2] = {
    {Intrinsic::nvvm_read_ptx_sreg_tid_x, Intrinsic::amdgcn_workitem_id_x},
    {Intrinsic::nvvm_read_ptx_sreg_tid_y, Intrinsic::amdgcn_workitem_id_y},
    {Intrinsic::nvvm_read_ptx_sreg_tid_z, Intrinsic::amdgcn_workitem_id_z}};

/// By its type, or by that of what it leads into.
bool isIn(const Value *Pointer, unsigned Space) {
  const Value *Object = getUnderlyingObject(Pointer, /*MaxLookup=*/0);
  return Pointer->getType()->getPointerAddressSpace() == Space ||
         Object->getType()->getPointerAddressSpace() == Space;
}

/// Whether a pointer is to a thread's or a block's own memory.
bool isOwnMemory(const Value *Pointer) {
  return isa<AllocaInst>(getUnderlyingObject(Pointer, /*MaxLookup=*/0)) || isIn(Pointer, SharedSpace) ||
         isIn(Pointer, LocalSpace);
}

bool isGlobalMemory(const Value *Pointer) { return !isOwnMemory(Pointer) && !isIn(Pointer, ConstantSpace); }

/// What one more along one axis of the block adds to a value.
class AxisStrides {
public:
  AxisStrides(ScalarEvolution &SE, unsigned Axis) : SE(SE), Axis(Axis) {}

  Stride of(Value *V) {
    if (SE.isSCEVable(V->getType()))
      return of(SE.getSCEV(V));
    return remembered(V, [&] { return ofUnknown(V); });
  }

private:
  Stride of(const SCEV *S) {
    return remembered(S, [&] { return compute(S); });
  }

  template <typename Function> Stride remembered(const void *What, Function Compute) {
    // While it is looked at, a value that depends on itself adds nothing of its own.
    auto [Entry, IsNew] = Known.try_emplace(What, 0);
    if (!IsNew)
      return Entry->second;
    if (Depth == DeepestSearch)
      return Known[What] = std::nullopt;
    ++Depth;
    Stride Found = Compute();
    --Depth;
    return Known[What] = Found;
  }

  Stride compute(const SCEV *S) {
    switch (S->getSCEVType()) {
    case scAddExpr:
      return sum(S->operands());
    case scMulExpr:
      return product(S->operands());
    case scUDivExpr:
      return quotient(of(S->operands()[0]), of(S->operands()[1]), constant(S->operands()[1]));
    case scAddRecExpr: // the same turn of a loop in both threads
      return isUniform(S->operands().drop_front()) ? of(S->operands()[0]) : std::nullopt;
    case scUnknown:
      return ofUnknown(cast<SCEVUnknown>(S)->getValue());
    case scCouldNotCompute:
      return std::nullopt;
    default: // constants, casts, minima and maxima
      return common(S->operands());
    }
  }

  Stride ofUnknown(Value *V) {
    auto *I = dyn_cast<Instruction>(V);
    if (!I)
      return 0;
    if (auto *Call = dyn_cast<IntrinsicInst>(I);
        Call && is_contained(ThreadIndex[Axis], Call->getIntrinsicID()))
      return 1;
    switch (I->getOpcode()) {
    case Instruction::SDiv:
    case Instruction::UDiv:
      return quotient(of(I->getOperand(0)), of(I->getOperand(1)), constant(I->getOperand(1)));
    case Instruction::SRem:
    case Instruction::URem:
      return of(I->getOperand(1)) == 0 ? of(I->getOperand(0)) : std::nullopt;
    case Instruction::Load:
      return isOwnMemory(cast<LoadInst>(I)->getPointerOperand())
                 ? std::nullopt
                 : ofOperands(I->operands(), &AxisStrides::mix);
    case Instruction::PHI:
      return ofOperands(cast<PHINode>(I)->incoming_values(), &AxisStrides::join);
    case Instruction::Select:
      return join(of(I->getOperand(1)), of(I->getOperand(2)));
    default:
      return ofOperands(I->operands(), &AxisStrides::mix);
    }
  }

  using Combine = Stride (*)(Stride, Stride);

  /// Of alternatives: a clamped index runs with the one that isn't clamped.
  static Stride join(Stride A, Stride B) {
    if (A == 0)
      return B;
    return B == 0 || A == B ? A : std::nullopt;
  }

  /// Of whatever else is computed from both, such as what a load finds.
  static Stride mix(Stride A, Stride B) { return A == 0 && B == 0 ? Stride(0) : std::nullopt; }

  template <typename Range> Stride ofOperands(Range &&Operands, Combine Combined) {
    Stride All = 0;
    for (Value *Operand : Operands)
      if (!isa<BasicBlock>(Operand))
        All = Combined(All, of(Operand));
    return All;
  }

  static Stride quotient(Stride Dividend, Stride Divisor, Stride Constant) {
    if (Divisor != 0 || !Dividend)
      return std::nullopt;
    bool StepsWithinWarp = Constant && std::abs(*Constant) < LargeDivisor;
    return Dividend == 0 || !StepsWithinWarp ? Stride(0) : std::nullopt;
  }

  Stride sum(ArrayRef<const SCEV *> Terms) {
    int64_t Sum = 0;
    for (const SCEV *Term : Terms) {
      Stride Of = of(Term);
      if (!Of)
        return std::nullopt;
      Sum += *Of;
    }
    return Sum;
  }

  /// A constant times one factor that changes; nothing else changes by the same from thread to thread.
  Stride product(ArrayRef<const SCEV *> Factors) {
    int64_t Constant = 1;
    Stride Changing = 0;
    bool IsScaled = false;
    for (const SCEV *Factor : Factors) {
      if (Stride Value = constant(Factor))
        Constant *= *Value;
      else if (Stride Of = of(Factor); Of == 0)
        IsScaled = true;
      else if (Changing == 0)
        Changing = Of;
      else
        return std::nullopt;
    }
    if (Changing == 0)
      return 0;
    return Changing && !IsScaled ? Stride(*Changing * Constant) : std::nullopt;
  }

  Stride common(ArrayRef<const SCEV *> Operands) {
    Stride All = 0;
    for (const SCEV *Operand : Operands)
      All = join(All, of(Operand));
    return All;
  }

  bool isUniform(ArrayRef<const SCEV *> Operands) {
    return all_of(Operands, [&](const SCEV *Operand) { return of(Operand) == 0; });
  }

  static Stride constant(const Value *V) {
    const auto *Constant = dyn_cast<ConstantInt>(V);
    return Constant ? Constant->getValue().trySExtValue() : std::nullopt;
  }

  static Stride constant(const SCEV *S) {
    const auto *Constant = dyn_cast<SCEVConstant>(S);
    return Constant ? constant(Constant->getValue()) : std::nullopt;
  }

  ScalarEvolution &SE;
  unsigned Axis;
  unsigned Depth = 0;
  DenseMap<const void *, Stride> Known;
};

Type *accessedType(const Instruction &I) {
  if (const auto *Store = dyn_cast<StoreInst>(&I))
    return Store->getValueOperand()->getType();
  if (const auto *Update = dyn_cast<AtomicRMWInst>(&I))
    return Update->getValOperand()->getType();
  return I.getType();
}

} // namespace

std::map<AccessPattern, unsigned> accessPatterns(Function &Kernel) {
  Analyses Managers;
  auto &SE = Managers.of<ScalarEvolutionAnalysis>(Kernel);
  AxisStrides Axes[] = {{SE, 0}, {SE, 1}, {SE, 2}};
  const DataLayout &Layout = Kernel.getDataLayout();
  std::map<AccessPattern, unsigned> Patterns;
  for (Instruction &I : instructions(Kernel)) {
    auto *Pointer = const_cast<Value *>(isa<AtomicRMWInst>(I) ? cast<AtomicRMWInst>(I).getPointerOperand()
                                                              : getLoadStorePointerOperand(&I));
    if (!Pointer || !isGlobalMemory(Pointer))
      continue;
    uint64_t Bytes = Layout.getTypeStoreSize(accessedType(I)).getKnownMinValue();
    ++Patterns[{Bytes, {Axes[0].of(Pointer), Axes[1].of(Pointer), Axes[2].of(Pointer)}}];
  }
  return Patterns;
}

} // namespace r3
