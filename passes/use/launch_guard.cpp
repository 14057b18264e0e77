// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/launch_guard.h"

#include "use/choice.h"

#include "llvm/ADT/APInt.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

/// clang names the stub of `_Z4stepPf` `_Z19__device_stub__stepPf`.
std::string kernelOfStub(StringRef Stub) {
  constexpr StringLiteral Mark = "__device_stub__";
  size_t At = Stub.find(Mark);
  if (At == StringRef::npos)
    return {};
  StringRef Before = Stub.take_front(At),
            Digits = Before.take_back(Before.size() - (Before.find_last_not_of("0123456789") + 1));
  StringRef Rest = Stub.drop_front(At + Mark.size());
  unsigned Length;
  if (Digits.getAsInteger(10, Length) || Length <= Mark.size())
    return (Before + Rest).str();
  return (Before.drop_back(Digits.size()) + Twine(Length - Mark.size()) + Rest).str();
}

StringRef calleeName(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee ? Callee->getName() : StringRef();
}

/// The call that takes the dimensions from between `<<<` and `>>>`, and the one that launches.
struct Stub {
  CallBase *pop = nullptr;
  CallBase *launch = nullptr;

  explicit Stub(Function &F) {
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallBase>(&I);
      if (!Call)
        continue;
      StringRef Name = calleeName(*Call);
      if ((Name == "__cudaPopCallConfiguration" || Name == "__hipPopCallConfiguration") &&
          Call->arg_size() == 4)
        pop = Call;
      if (Name.starts_with("cudaLaunchKernel") || Name.starts_with("hipLaunchKernel"))
        launch = Call;
    }
  }

  /// The array of pointers to arguments, which stands before the launch's other pointer, the stream.
  Value *arguments() const {
    if (!launch)
      return nullptr;
    for (Value *Operand : drop_begin(launch->args()))
      if (Operand->getType()->isPointerTy())
        return isa<AllocaInst>(Operand) ? Operand : nullptr;
    return nullptr;
  }
};

/// Writes the guard behind the call that fetched the dimensions: they lie in memory there, whatever the ABI
/// does with them next.
class GuardWriter {
public:
  GuardWriter(const Stub &Target, const LaunchRule &Rule)
      : Target(Target), Rule(Rule), Builder(Target.pop->getNextNode()), Grid(Target.pop->getArgOperand(0)),
        Block(Target.pop->getArgOperand(1)), Shared(Target.pop->getArgOperand(2)) {}

  void write() {
    std::array<Value *, 3> AskedGrid = load(Grid), AskedBlock = load(Block);
    Value *AskedShared = Builder.CreateLoad(Builder.getInt64Ty(), Shared);
    Value *Admitted = Builder.getFalse();
    std::array<Value *, 3> NewGrid = AskedGrid;
    for (const LaunchShape &Shape : Rule.shapes) {
      Value *IsShape =
          Builder.CreateAnd(Builder.CreateAnd(equal(AskedGrid, Shape.grid), equal(AskedBlock, Shape.block)),
                            Builder.CreateICmpEQ(AskedShared, Builder.getInt64(Shape.shared)));
      Dim3 Given = gridUnder(Rule, Shape);
      for (size_t Axis = 0; Axis < 3; ++Axis)
        NewGrid[Axis] = Builder.CreateSelect(IsShape, Builder.getInt32(Given[Axis]), NewGrid[Axis]);
      Admitted = Builder.CreateOr(Admitted, IsShape);
    }
    for (const ScalarGuard &Scalar : Rule.scalars)
      Admitted = Builder.CreateAnd(Admitted, isOneOf(Scalar));
    for (size_t Axis = 0; Axis < 3; ++Axis) {
      store(Grid, Axis, Builder.CreateSelect(Admitted, NewGrid[Axis], AskedGrid[Axis]));
      store(Block, Axis,
            Builder.CreateSelect(Admitted, Builder.getInt32(Rule.block[Axis]), AskedBlock[Axis]));
    }
  }

private:
  Value *place(Value *Dimensions, size_t Axis) {
    return Builder.CreateConstInBoundsGEP1_32(Builder.getInt32Ty(), Dimensions, Axis);
  }

  std::array<Value *, 3> load(Value *Dimensions) {
    std::array<Value *, 3> Loaded;
    for (size_t Axis = 0; Axis < 3; ++Axis)
      Loaded[Axis] = Builder.CreateAlignedLoad(Builder.getInt32Ty(), place(Dimensions, Axis), Align(4));
    return Loaded;
  }

  void store(Value *Dimensions, size_t Axis, Value *Extent) {
    Builder.CreateAlignedStore(Extent, place(Dimensions, Axis), Align(4));
  }

  Value *equal(const std::array<Value *, 3> &Asked, const Dim3 &Wanted) {
    Value *All = Builder.getTrue();
    for (size_t Axis = 0; Axis < 3; ++Axis)
      All = Builder.CreateAnd(All, Builder.CreateICmpEQ(Asked[Axis], Builder.getInt32(Wanted[Axis])));
    return All;
  }

  Value *isOneOf(const ScalarGuard &Scalar) {
    Value *Slot = Builder.CreateConstInBoundsGEP1_32(Builder.getPtrTy(), Target.arguments(), Scalar.index);
    Value *Address = Builder.CreateLoad(Builder.getPtrTy(), Slot);
    Type *Bits = Builder.getIntNTy(8 * Scalar.size);
    Value *Argument = Builder.CreateAlignedLoad(Bits, Address, Align(1));
    Value *Any = Builder.getFalse();
    for (const std::string &Bytes : Scalar.values) {
      APInt Wanted(8 * Scalar.size, 0);
      for (size_t Byte = 0; Byte < Bytes.size(); ++Byte)
        Wanted.insertBits(static_cast<uint8_t>(Bytes[Byte]), 8 * Byte, 8);
      Any = Builder.CreateOr(Any, Builder.CreateICmpEQ(Argument, ConstantInt::get(Bits, Wanted)));
    }
    return Any;
  }

  const Stub &Target;
  const LaunchRule &Rule;
  IRBuilder<> Builder;
  Value *Grid;
  Value *Block;
  Value *Shared;
};

Function *stubOf(Module &Host, StringRef Kernel) {
  for (Function &F : Host)
    if (!F.isDeclaration() && nameWithoutUnit(kernelOfStub(F.getName())) == nameWithoutUnit(Kernel))
      return &F;
  return nullptr;
}

} // namespace

std::string guardLaunches(Module &Host, StringRef Kernel, const LaunchRule &Rule) {
  Function *Found = stubOf(Host, Kernel);
  if (!Found)
    return "the host code of this unit doesn't launch the kernel";
  Stub Target(*Found);
  if (!Target.pop)
    return "clang's launch stub isn't the one that this R3 knows";
  if (!Rule.scalars.empty() && !Target.arguments())
    return "the stub's arguments weren't found";
  GuardWriter(Target, Rule).write();
  return {};
}

} // namespace r3
