// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/launch_guard.h"

#include "use/registration.h"

#include "llvm/ADT/APInt.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

StringRef calleeName(const CallBase &Call) {
  const Function *Callee = Call.getCalledFunction();
  return Callee ? Callee->getName() : StringRef();
}

bool launches(const CallBase &Call, const Constant &Key) {
  StringRef Name = calleeName(Call);
  return (Name.starts_with("cudaLaunchKernel") || Name.starts_with("hipLaunchKernel")) &&
         Call.arg_size() > 0 && Call.getArgOperand(0)->stripPointerCasts() == &Key;
}

bool takesDimensions(const CallInst &Call) {
  StringRef Name = calleeName(Call);
  return (Name == "__cudaPopCallConfiguration" || Name == "__hipPopCallConfiguration") &&
         Call.arg_size() == 4;
}

/// clang's function that launches one kernel: the call that takes the dimensions from between `<<<` and
/// `>>>`, and the one that launches.
struct Stub {
  CallInst *pop = nullptr;
  CallBase *launch = nullptr;

  Stub(CallBase &Launch) : launch(&Launch) {
    for (Instruction &I : instructions(*Launch.getFunction()))
      if (auto *Call = dyn_cast<CallInst>(&I); Call && takesDimensions(*Call))
        pop = Call;
  }

  /// The array of pointers to arguments, which stands before the launch's other pointer, the stream.
  Value *arguments() const {
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
  GuardWriter(const Stub &Target, const LaunchChange &Change)
      : Target(Target), Change(Change), Builder(Target.pop->getNextNode()),
        Grid(Target.pop->getArgOperand(0)), Block(Target.pop->getArgOperand(1)),
        Shared(Target.pop->getArgOperand(2)) {}

  /// VersionKey: what the runtime knows the change's version by.
  void write(Constant *VersionKey) {
    std::array<Value *, 3> AskedGrid = load(Grid), AskedBlock = load(Block);
    AskedShared = Builder.CreateLoad(Builder.getInt64Ty(), Shared);
    NewGrid = AskedGrid, NewBlock = AskedBlock;
    Value *Admitted = Change.rule ? followRule(*Change.rule) : Builder.getTrue();
    if (Change.version)
      Admitted = Builder.CreateAnd(Admitted, suits(*Change.version));
    if (Change.rule)
      for (size_t Axis = 0; Axis < 3; ++Axis) {
        store(Grid, Axis, Builder.CreateSelect(Admitted, NewGrid[Axis], AskedGrid[Axis]));
        store(Block, Axis, Builder.CreateSelect(Admitted, NewBlock[Axis], AskedBlock[Axis]));
      }
    if (Change.version)
      Target.launch->setArgOperand(
          0, Builder.CreateSelect(Admitted, VersionKey, Target.launch->getArgOperand(0)));
  }

private:
  /// Whether the rule admits the launch, whose new dimensions are the rule's then.
  Value *followRule(const LaunchRule &Rule) {
    Value *Admitted = Builder.getFalse();
    const std::array<Value *, 3> AskedGrid = NewGrid, AskedBlock = NewBlock;
    for (const LaunchShape &Shape : Rule.shapes) {
      Value *IsShape =
          Builder.CreateAnd(Builder.CreateAnd(equal(AskedGrid, Shape.grid), equal(AskedBlock, Shape.block)),
                            Builder.CreateICmpEQ(AskedShared, Builder.getInt64(Shape.shared)));
      choose(IsShape, gridUnder(Rule, Shape), NewGrid);
      choose(IsShape, blockUnder(Rule, Shape), NewBlock);
      Admitted = Builder.CreateOr(Admitted, IsShape);
    }
    for (const ScalarGuard &Scalar : Rule.scalars)
      Admitted = Builder.CreateAnd(Admitted, isOneOf(Scalar.index, Scalar.values));
    return Admitted;
  }

  /// Whether a launch with the new dimensions has what the version takes for granted.
  Value *suits(const KernelVersion &Version) {
    Value *Suits = Builder.CreateICmpULE(AskedShared, Builder.getInt64(Version.shared));
    for (const ArgumentConstant &Argument : Version.values.arguments)
      Suits = Builder.CreateAnd(Suits, isOneOf(Argument.index, {Argument.bytes}));
    if (Version.values.block)
      Suits = Builder.CreateAnd(Suits, equal(NewBlock, *Version.values.block));
    if (Version.values.grid)
      Suits = Builder.CreateAnd(Suits, equal(NewGrid, *Version.values.grid));
    if (Version.threads)
      Suits = Builder.CreateAnd(Suits, Builder.CreateICmpULE(threads(), Builder.getInt64(*Version.threads)));
    return Suits;
  }

  void choose(Value *Condition, const Dim3 &Given, std::array<Value *, 3> &Dimensions) {
    for (size_t Axis = 0; Axis < 3; ++Axis)
      Dimensions[Axis] = Builder.CreateSelect(Condition, Builder.getInt32(Given[Axis]), Dimensions[Axis]);
  }

  Value *threads() {
    Value *Product = Builder.getInt64(1);
    for (Value *Extent : NewBlock)
      Product = Builder.CreateMul(Product, Builder.CreateZExt(Extent, Builder.getInt64Ty()));
    return Product;
  }

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

  Value *isOneOf(uint32_t Index, ArrayRef<std::string> Values) {
    Value *Slot = Builder.CreateConstInBoundsGEP1_32(Builder.getPtrTy(), Target.arguments(), Index);
    Value *Address = Builder.CreateLoad(Builder.getPtrTy(), Slot);
    Value *Any = Builder.getFalse();
    for (const std::string &Bytes : Values)
      Any = Builder.CreateOr(Any, holds(Address, Bytes));
    return Any;
  }

  /// Whether the argument at Address has these bytes.
  Value *holds(Value *Address, StringRef Bytes) {
    constexpr size_t Word = 8;
    Value *All = Builder.getTrue();
    for (size_t At = 0; At < Bytes.size(); At += Word) {
      StringRef Part = Bytes.substr(At, Word);
      APInt Wanted(8 * Part.size(), 0);
      for (size_t Byte = 0; Byte < Part.size(); ++Byte)
        Wanted.insertBits(static_cast<uint8_t>(Part[Byte]), 8 * Byte, 8);
      Type *Bits = Builder.getIntNTy(Wanted.getBitWidth());
      Value *Place = Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Address, At);
      Value *Found = Builder.CreateAlignedLoad(Bits, Place, Align(1));
      All = Builder.CreateAnd(All, Builder.CreateICmpEQ(Found, ConstantInt::get(Bits, Wanted)));
    }
    return All;
  }

  const Stub &Target;
  const LaunchChange &Change;
  IRBuilder<> Builder;
  Value *Grid;
  Value *Block;
  Value *Shared;
  Value *AskedShared = nullptr;
  std::array<Value *, 3> NewGrid, NewBlock; ///< what the launch gets if it is admitted
};

/// Nothing where the host code launches Key by its own calls alone.
std::optional<Stub> stubOf(Constant &Key) {
  for (User *U : Key.users())
    if (auto *Call = dyn_cast<CallBase>(U); Call && launches(*Call, Key))
      if (Stub Found(*Call); Found.pop)
        return Found;
  return std::nullopt;
}

bool readsArguments(const LaunchChange &Change) {
  return (Change.rule && !Change.rule->scalars.empty()) ||
         (Change.version && !Change.version->values.arguments.empty());
}

} // namespace

std::string guardLaunches(Module &Host, StringRef Kernel, const LaunchChange &Change) {
  std::optional<Registration> Known = registrationOf(Host, Kernel);
  if (!Known)
    return "the host code of this unit doesn't launch the kernel";
  std::optional<Stub> Target = stubOf(*Known->key);
  if (!Target || Target->launch->getParent() != Target->pop->getParent())
    return "clang's launch stub isn't the one that this R3 knows";
  if (readsArguments(Change) && !Target->arguments())
    return "the stub's arguments weren't found";
  Constant *VersionKey = Change.version ? registerBeside(Host, *Known, Change.version->name) : nullptr;
  GuardWriter(*Target, Change).write(VersionKey);
  return {};
}

} // namespace r3
