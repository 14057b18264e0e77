// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/tables.h"

#include "common/analyses.h"
#include "common/describe.h"
#include "replay/content.h"
#include "replay/element_types.h"
#include "replay/extract.h"
#include "replay/guarded_copy.h"
#include "replay/module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/ReplaceConstant.h"

#include <map>

using namespace llvm;

namespace r3 {
namespace {

constexpr unsigned FlatSpace = 0, GlobalSpace = 1, ConstantSpace = 4;
constexpr uint64_t WidestWord = 4; ///< bytes that the guard compares at once: a GPU's register
/// Loops get a block before them, where a guard can stand.
constexpr StringLiteral PreheaderText = "function(loop-simplify)";
constexpr StringLiteral UnrollText =
    "function(instcombine<no-verify-fixpoint>,loop-simplify,lcssa,loop(loop-rotate,indvars,"
    "loop-unroll-full),sroa,early-cse,simplifycfg,loop-simplify)";

uint64_t sizeOf(const GlobalVariable &Variable) {
  return Variable.getParent()->getDataLayout().getTypeAllocSize(Variable.getValueType()).getFixedValue();
}

/// Where code uses a variable's address, and what it loads through it.
class VariableUses {
public:
  VariableUses(GlobalVariable &Variable, Function &Kernel) {
    for (Use &U : Variable.uses())
      if (auto *User = dyn_cast<Instruction>(U.getUser()); User && User->getFunction() == &Kernel) {
        Roots.push_back(&U);
        visit(U);
      }
  }

  /// Whether the address serves to read the variable and nothing else.
  bool onlyRead() const { return !Roots.empty() && OnlyRead; }
  ArrayRef<Use *> roots() const { return Roots; }
  ArrayRef<Instruction *> reads() const { return Reads; }

private:
  void visit(Use &U) {
    auto *User = cast<Instruction>(U.getUser());
    if (auto *Load = dyn_cast<LoadInst>(User); Load && Load->isSimple())
      return Reads.push_back(Load);
    if (auto *Copy = dyn_cast<MemTransferInst>(User);
        Copy && !Copy->isVolatile() && &Copy->getRawSourceUse() == &U)
      return Reads.push_back(Copy);
    bool IsAddress = isa<GetElementPtrInst>(User) || isa<AddrSpaceCastInst>(User) || isa<PHINode>(User) ||
                     isa<SelectInst>(User);
    if (!IsAddress) {
      OnlyRead = false;
      return;
    }
    if (Seen.insert(User).second)
      for (Use &Next : User->uses())
        visit(Next);
  }

  bool OnlyRead = true;
  SmallVector<Use *, 16> Roots;
  SmallVector<Instruction *, 16> Reads;
  SmallPtrSet<Instruction *, 16> Seen;
};

/// A load of plain numbers at a fixed distance behind an argument.
struct FixedLoad {
  LoadInst *load;
  uint64_t offset;
  uint64_t size;

  uint64_t end() const { return offset + size; }
};

std::vector<FixedLoad> fixedLoads(Argument &Pointer) {
  std::vector<FixedLoad> Found;
  const DataLayout &Layout = Pointer.getParent()->getParent()->getDataLayout();
  for (Instruction &I : instructions(*Pointer.getParent())) {
    auto *Load = dyn_cast<LoadInst>(&I);
    if (!Load || !Load->isSimple() || Load->getType()->isAggregateType() || holdsPointers(Load->getType()))
      continue;
    APInt Offset(Layout.getIndexTypeSizeInBits(Load->getPointerOperandType()), 0);
    Value *Base = Load->getPointerOperand()->stripAndAccumulateConstantOffsets(Layout, Offset,
                                                                               /*AllowNonInbounds=*/true);
    TypeSize Bits = Layout.getTypeSizeInBits(Load->getType());
    if (Base == &Pointer && !Offset.isNegative() && !Bits.isScalable() && Bits.getFixedValue() % 8 == 0)
      Found.push_back({Load, Offset.getZExtValue(), Bits.getFixedValue() / 8});
  }
  return Found;
}

/// clang passes pointers to AMD's kernels as global ones and makes flat ones of them by way of integers,
/// which hides what they point to. The address is the same one.
void exposePointers(Function &Kernel) {
  if (!Kernel.getParent()->getTargetTriple().isAMDGCN())
    return;
  for (Instruction &I : make_early_inc_range(instructions(Kernel))) {
    auto *Cast = dyn_cast<IntToPtrInst>(&I);
    auto *Number = Cast ? dyn_cast<PtrToIntInst>(Cast->getOperand(0)) : nullptr;
    if (!Number || !isa<Argument>(Number->getPointerOperand()) ||
        Number->getPointerAddressSpace() != GlobalSpace || Cast->getAddressSpace() != FlatSpace)
      continue;
    Value *Same = IRBuilder<>(Cast).CreateAddrSpaceCast(Number->getPointerOperand(), Cast->getType());
    Cast->replaceAllUsesWith(Same);
    Cast->eraseFromParent();
  }
}

/// A kernel's function with what decides about its tables.
class KernelTables {
public:
  explicit KernelTables(Function &Kernel) : Kernel(Kernel), M(*Kernel.getParent()) {
    exposeAccesses(M);
    exposePointers(Kernel);
    Analysed.emplace();
    Analysed->run(M, PreheaderText);
    Analysed.emplace();
  }

  /// To be called when the code has changed.
  void forget() { Analysed.emplace(); }

  /// Fixed loads in loops of a known length become visible.
  void unroll() {
    Analysed->run(M, UnrollText);
    Analysed.emplace();
  }

  bool isTable(GlobalVariable &Variable) {
    if (!isDeviceVariable(Variable) || !isMutableGlobal(Variable) || Variable.isDeclaration() ||
        Variable.isThreadLocal() || sizeOf(Variable) > MaxTableBytes ||
        holdsPointers(Variable.getValueType()))
      return false;
    BasicBlock *Start = blockFor(Variable);
    return Start && staysBehind(Variable, *Start);
  }

  /// The block behind whose start the variable is read; null where its address does more than that.
  BasicBlock *blockFor(GlobalVariable &Variable) {
    convertUsersOfConstantsToInstructions({&Variable}, &Kernel);
    Analysed.emplace();
    VariableUses Uses(Variable, Kernel);
    if (!Uses.onlyRead())
      return nullptr;
    SmallVector<BasicBlock *, 16> Users;
    for (Use *Root : Uses.roots())
      Users.push_back(blockOf(*Root));
    return commonStart(Users);
  }

  BasicBlock *blockFor(ArrayRef<FixedLoad> Loads) {
    SmallVector<BasicBlock *, 16> Users;
    for (const FixedLoad &Each : Loads)
      Users.push_back(Each.load->getParent());
    return Users.empty() ? nullptr : commonStart(Users);
  }

  BasicBlock *commonStart(ArrayRef<BasicBlock *> Users) {
    DominatorTree &Tree = Analysed->of<DominatorTreeAnalysis>(Kernel);
    LoopInfo &Loops = Analysed->of<LoopAnalysis>(Kernel);
    BasicBlock *Start = nullptr;
    for (BasicBlock *User : Users)
      if (Tree.isReachableFromEntry(User))
        Start = Start ? Tree.findNearestCommonDominator(Start, User) : User;
    while (Start && Loops.getLoopFor(Start))
      Start = Tree.getNode(Loops.getLoopFor(Start)->getOutermostLoop()->getHeader())->getIDom()->getBlock();
    return Start;
  }

  /// Whether the variable's reads find what a guard at Start finds, and all threads of a block the same.
  bool staysBehind(GlobalVariable &Variable, BasicBlock &Start) {
    if (Variable.getAddressSpace() == ConstantSpace || isNeverWritten(Variable))
      return true;
    // Another thread may write what this one does not come to read: then each may choose for itself.
    VariableUses Uses(Variable, Kernel);
    return !threadsMeet(Start) &&
           all_of(Uses.reads(), [&](Instruction *Read) { return isUnwritten(*Read, Start); });
  }

  /// Whether what a load reads is what it would read at Start, by the IR alone.
  bool isUnwritten(Instruction &Read, BasicBlock &Start) {
    MemorySSA &Memory = Analysed->of<MemorySSAAnalysis>(Kernel).getMSSA();
    auto *Access = dyn_cast_or_null<MemoryUse>(Memory.getMemoryAccess(&Read));
    if (!Access)
      return false;
    MemoryAccess *Writer = Memory.getWalker()->getClobberingMemoryAccess(Access);
    return Memory.isLiveOnEntryDef(Writer) || (isa<MemoryPhi>(Writer) && Writer->getBlock() == &Start) ||
           Analysed->of<DominatorTreeAnalysis>(Kernel).properlyDominates(Writer->getBlock(), &Start);
  }

  /// Of Loads, which are behind one argument, those that every thread at Start executes.
  std::vector<FixedLoad> certain(ArrayRef<FixedLoad> Loads, BasicBlock &Start) {
    std::vector<FixedLoad> Certain;
    SmallPtrSet<BasicBlock *, 8> Seen;
    for (BasicBlock *Block = &Start; Block && Seen.insert(Block).second; Block = Block->getUniqueSuccessor())
      for (Instruction &I : *Block) {
        for (const FixedLoad &Each : Loads)
          if (Each.load == &I && isUnwritten(I, Start))
            Certain.push_back(Each);
        if (!surelyEnds(I))
          return Certain;
      }
    return Certain;
  }

  Function &Kernel;
  Module &M;

private:
  /// Whether no instruction of the kernel, in whichever thread, can write to the variable.
  bool isNeverWritten(GlobalVariable &Variable) {
    AAResults &Aliases = Analysed->of<AAManager>(Kernel);
    MemoryLocation Whole(&Variable, LocationSize::precise(sizeOf(Variable)));
    return none_of(instructions(Kernel), [&](Instruction &I) {
      return isModSet(Aliases.getModRefInfo(&I, Whole)) && !isSynchronisation(I);
    });
  }

  /// Orders what other instructions write, and writes nothing.
  static bool isSynchronisation(const Instruction &I) {
    auto *Call = dyn_cast<IntrinsicInst>(&I);
    StringRef Name = Call ? Call->getCalledFunction()->getName() : StringRef();
    return isa<FenceInst>(I) ||
           any_of(ArrayRef<StringRef>{"llvm.nvvm.barrier", "llvm.nvvm.bar.", "llvm.nvvm.membar",
                                      "llvm.nvvm.fence", "llvm.amdgcn.s.barrier"},
                  [&](StringRef Prefix) { return Name.starts_with(Prefix); });
  }

  /// Whether threads wait for one another, or exchange values, behind Start.
  bool threadsMeet(BasicBlock &Start) {
    SmallVector<BasicBlock *, 16> Behind;
    Analysed->of<DominatorTreeAnalysis>(Kernel).getDescendants(&Start, Behind);
    return any_of(Behind, [](BasicBlock *Block) {
      return any_of(*Block, [](Instruction &I) {
        auto *Call = dyn_cast<CallBase>(&I);
        return Call && Call->isConvergent();
      });
    });
  }

  /// Whether what stands behind I is executed, too. A barrier that never ends is a program that never ends.
  static bool surelyEnds(Instruction &I) {
    auto *Intrinsic = dyn_cast<IntrinsicInst>(&I);
    return isGuaranteedToTransferExecutionToSuccessor(&I) || (Intrinsic && !Intrinsic->doesNotReturn());
  }

  static BasicBlock *blockOf(Use &U) {
    if (auto *Phi = dyn_cast<PHINode>(U.getUser()))
      return Phi->getIncomingBlock(U);
    return cast<Instruction>(U.getUser())->getParent();
  }

  std::optional<Analyses> Analysed;
};

/// Ranges that some of these loads cover, in order, those that touch as one.
std::vector<std::pair<uint64_t, uint64_t>> rangesOf(std::vector<FixedLoad> Loads) {
  sort(Loads, [](const FixedLoad &Left, const FixedLoad &Right) { return Left.offset < Right.offset; });
  std::vector<std::pair<uint64_t, uint64_t>> Ranges;
  for (const FixedLoad &Each : Loads)
    if (!Ranges.empty() && Each.offset <= Ranges.back().second)
      Ranges.back().second = std::max(Ranges.back().second, Each.end());
    else
      Ranges.emplace_back(Each.offset, Each.end());
  return Ranges;
}

json::Array variablesOf(KernelTables &Tables) {
  json::Array Found;
  for (GlobalVariable &Variable : Tables.M.globals())
    if (Tables.isTable(Variable))
      Found.push_back(json::Object{{"name", Variable.getName().str()}, {"size", sizeOf(Variable)}});
  return Found;
}

json::Array memoryOf(KernelTables &Tables) {
  json::Array Found;
  for (Argument &Parameter : Tables.Kernel.args()) {
    if (!Parameter.getType()->isPointerTy() || Parameter.hasPointeeInMemoryValueAttr())
      continue;
    std::vector<FixedLoad> Loads = fixedLoads(Parameter);
    BasicBlock *Start = Tables.blockFor(Loads);
    if (!Start)
      continue;
    for (auto [Begin, End] : rangesOf(Tables.certain(Loads, *Start)))
      if (End - Begin <= MaxTableBytes)
        Found.push_back(
            json::Object{{"argument", Parameter.getArgNo()}, {"offset", Begin}, {"size", End - Begin}});
  }
  return Found;
}

json::Array valuesOf(Function &Kernel) {
  json::Array Found;
  const DataLayout &Layout = Kernel.getParent()->getDataLayout();
  for (Argument &Parameter : Kernel.args()) {
    Type *Held =
        Parameter.getParamByValType() ? Parameter.getParamByValType() : Parameter.getParamByRefType();
    if (Held && !holdsPointers(Held) && Layout.getTypeAllocSize(Held).getFixedValue() <= MaxTableBytes &&
        !Parameter.use_empty())
      Found.push_back(Parameter.getArgNo());
  }
  return Found;
}

Error noTable(const Function &Kernel, const Twine &What) {
  return makeError(R3_BAD_REQUEST, What + " is no read-only table of " + Kernel.getName());
}

/// One table in the kernel's code: its part of the guard, and its constants in the copy.
class FixedTable {
public:
  /// Scope: the blocks whose loads count; all where it is empty.
  FixedTable(KernelTables &Tables, const Table &Wanted, ArrayRef<BasicBlock *> Scope)
      : Tables(Tables), Wanted(Wanted), Scope(Scope.begin(), Scope.end()) {}

  /// Finds the table in the code. R3_BAD_REQUEST where it is none.
  Error find() {
    if (!Wanted.variable.empty()) {
      Variable = Tables.M.getGlobalVariable(Wanted.variable, /*AllowInternal=*/true);
      if (!Variable || !Tables.isTable(*Variable) || sizeOf(*Variable) != Wanted.bytes.size() ||
          !contentAt(0, Variable->getValueType()))
        return noTable(Tables.Kernel,
                       "\"" + Wanted.variable + "\" with " + Twine(Wanted.bytes.size()) + " bytes");
      return Error::success();
    }
    if (Wanted.argument < Tables.Kernel.arg_size()) {
      Pointer = Tables.Kernel.getArg(Wanted.argument);
      if (Pointer->getType()->isPointerTy() && !Pointer->hasPointeeInMemoryValueAttr())
        Loads = fixedLoads(*Pointer);
    }
    if (!Scope.empty())
      erase_if(Loads, [&](const FixedLoad &Each) { return !Scope.contains(Each.load->getParent()); });
    return Loads.empty() ? notInMemory("") : Error::success();
  }

  BasicBlock *start() { return Variable ? Tables.blockFor(*Variable) : Tables.blockFor(Loads); }

  /// Chooses what the guard reads and which loads the copy can do without.
  Error settle(BasicBlock &Start) {
    if (Variable)
      return Tables.staysBehind(*Variable, Start) ? Error::success()
                                                  : noTable(Tables.Kernel, Wanted.variable);
    std::vector<FixedLoad> Inside;
    for (const FixedLoad &Each : Tables.certain(Loads, Start))
      if (isInside(Each) && contentAt(Each.offset - Wanted.offset, Each.load->getType()))
        Inside.push_back(Each);
    std::pair<uint64_t, uint64_t> Whole(Wanted.offset, Wanted.offset + Wanted.bytes.size());
    if (rangesOf(Inside) != std::vector{Whole})
      return notInMemory("; if it is one alone, no guard stands for it beside the other tables");
    for (const FixedLoad &Each : Inside)
      Read.insert({{Each.offset, Each.size}, Each.load});
    for (const FixedLoad &Each : Loads)
      if (isInside(Each) && Tables.isUnwritten(*Each.load, Start))
        Replaced.push_back(Each);
    return Error::success();
  }

  /// Whether memory holds the content.
  Value *holds(IRBuilderBase &Builder) const {
    Value *All = Builder.getTrue();
    if (!Variable) {
      for (const auto &[Place, Load] : Read)
        All =
            Builder.CreateAnd(All, isThere(Builder, Pointer, Place.first, Load->getType(), Load->getAlign()));
      return All;
    }
    Align Known = Variable->getAlign().valueOrOne();
    uint64_t Width = std::min<uint64_t>(Known.value(), WidestWord);
    for (uint64_t At = 0; At < Wanted.bytes.size(); At += Width) {
      while (At + Width > Wanted.bytes.size())
        Width /= 2;
      All = Builder.CreateAnd(
          All, isThere(Builder, Variable, At, Builder.getIntNTy(8 * Width), commonAlignment(Known, At)));
    }
    return All;
  }

  void replaceIn(ArrayRef<BasicBlock *> Copied, ValueToValueMapTy &Copies) const {
    if (Variable) {
      GlobalVariable *Fixed = fixedVariable();
      for (BasicBlock *Block : Copied)
        for (Instruction &I : *Block)
          I.replaceUsesOfWith(Variable, Fixed);
      return;
    }
    for (const FixedLoad &Each : Replaced) {
      auto *Copy = dyn_cast_or_null<LoadInst>(Copies.lookup(Each.load));
      if (!Copy)
        continue;
      Constant *Content = contentAt(Each.offset - Wanted.offset, Copy->getType());
      if (!Content)
        continue;
      Copy->replaceAllUsesWith(Content);
      Copy->eraseFromParent();
    }
  }

private:
  bool isInside(const FixedLoad &Each) const {
    return Each.offset >= Wanted.offset && Each.end() <= Wanted.offset + Wanted.bytes.size();
  }

  Error notInMemory(StringRef Why) const {
    return makeError(R3_BAD_REQUEST, "what lies " + Twine(Wanted.offset) + " bytes behind argument " +
                                         Twine(Wanted.argument) + " (" + Twine(Wanted.bytes.size()) +
                                         " bytes) is no read-only table of " + Tables.Kernel.getName() + Why);
  }

  Constant *contentAt(uint64_t Offset, Type *T) const {
    return constantFrom(T, StringRef(Wanted.bytes).substr(Offset), Tables.M.getDataLayout());
  }

  Value *isThere(IRBuilderBase &Builder, Value *Base, uint64_t Offset, Type *T, Align Known) const {
    Value *Address = Builder.CreateConstInBoundsGEP1_64(Builder.getInt8Ty(), Base, Offset);
    Value *Found = Builder.CreateAlignedLoad(T, Address, Known);
    Type *Bits = Builder.getIntNTy(Tables.M.getDataLayout().getTypeSizeInBits(T).getFixedValue());
    return Builder.CreateICmpEQ(Builder.CreateBitCast(Found, Bits), contentAt(Offset - Wanted.offset, Bits));
  }

  GlobalVariable *fixedVariable() const {
    Constant *Content = contentAt(0, Variable->getValueType());
    auto *Fixed = new GlobalVariable(Tables.M, Variable->getValueType(), /*isConstant=*/true,
                                     GlobalValue::InternalLinkage, Content, Variable->getName() + "_fixed",
                                     nullptr, GlobalValue::NotThreadLocal, Variable->getAddressSpace());
    Fixed->setAlignment(Variable->getAlign());
    Fixed->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
    return Fixed;
  }

  KernelTables &Tables;
  const Table &Wanted;
  SmallPtrSet<BasicBlock *, 16> Scope;
  GlobalVariable *Variable = nullptr;
  Argument *Pointer = nullptr;
  std::vector<FixedLoad> Loads, Replaced;
  std::map<std::pair<uint64_t, uint64_t>, LoadInst *> Read; ///< by offset and size
};

/// Puts a guard for as many of the Pending tables as one can stand for into Scope (all code where that is
/// empty). The others are left for one inside the code that this one has admitted, Scope from then on.
Error fixSome(KernelTables &Tables, std::vector<const Table *> &Pending,
              SmallVector<BasicBlock *, 16> &Scope) {
  std::vector<FixedTable> Found, Fixed;
  SmallVector<BasicBlock *, 4> Starts;
  for (const Table *Each : Pending) {
    Found.emplace_back(Tables, *Each, Scope);
    if (Error E = Found.back().find())
      return E;
    Starts.push_back(Found.back().start());
  }
  BasicBlock *Start = Tables.commonStart(Starts);
  if (!Start)
    return noTable(Tables.Kernel, "what no thread reads");
  std::vector<const Table *> Left;
  Error Last = Error::success();
  for (auto [Each, Own] : zip_equal(Found, Pending))
    if (Error E = Each.settle(*Start)) {
      Left.push_back(Own);
      consumeError(std::exchange(Last, std::move(E)));
    } else {
      Fixed.push_back(Each);
    }
  if (Fixed.empty())
    return Last;
  consumeError(std::move(Last));
  ValueToValueMapTy Copies;
  Scope = copyGuarded(*Start, Copies, [&](IRBuilderBase &Builder) {
    Value *All = Builder.getTrue();
    for (const FixedTable &Each : Fixed)
      All = Builder.CreateAnd(All, Each.holds(Builder));
    return All;
  });
  for (const FixedTable &Each : Fixed)
    Each.replaceIn(Scope, Copies);
  Pending = std::move(Left);
  return Error::success();
}

} // namespace

Expected<Table> parseTable(StringRef Text) {
  auto [Place, Hex] = Text.split('=');
  Table Parsed;
  bool Good =
      tryGetFromHex(Hex, Parsed.bytes) && !Parsed.bytes.empty() && Parsed.bytes.size() <= MaxTableBytes;
  if (Place.consume_front("@")) {
    Parsed.variable = Place.str();
    Good &= !Place.empty();
  } else {
    auto [Index, Offset] = Place.split('+');
    Good &= !Index.getAsInteger(10, Parsed.argument) && !Offset.getAsInteger(10, Parsed.offset);
  }
  if (!Good)
    return makeError(R3_BAD_REQUEST,
                     "\"" + Text + "\" is no table: \"@VARIABLE=HEX\" or \"ARGUMENT+OFFSET=HEX\" with 1 to " +
                         Twine(MaxTableBytes) + " bytes");
  return Parsed;
}

std::string textOf(const Table &Of) {
  std::string Place =
      Of.variable.empty() ? std::to_string(Of.argument) + "+" + std::to_string(Of.offset) : "@" + Of.variable;
  return Place + "=" + toHex(Of.bytes, /*LowerCase=*/true);
}

Expected<Product> findTables(ArrayRef<uint8_t> Bitcode, const KernelRequest &Request) {
  LLVMContext Context;
  Expected<KernelModule> Alone = loadKernelAlone(Bitcode, Request.Kernel, Context);
  if (!Alone)
    return Alone.takeError();
  Product Result;
  Result.Report["values"] = valuesOf(*Alone->Kernel);
  KernelTables Tables(*Alone->Kernel);
  Result.Report["variables"] = variablesOf(Tables);
  Tables.unroll();
  Result.Report["memory"] = memoryOf(Tables);
  return Result;
}

Error fixTables(Module &M, Function &Kernel, ArrayRef<Table> Wanted) {
  if (Wanted.empty())
    return Error::success();
  KernelTables Tables(Kernel);
  if (any_of(Wanted, [](const Table &Each) { return Each.variable.empty(); }))
    Tables.unroll();
  std::vector<const Table *> Pending;
  for (const Table &Each : Wanted)
    Pending.push_back(&Each);
  for (SmallVector<BasicBlock *, 16> Scope; !Pending.empty(); Tables.forget())
    if (Error E = fixSome(Tables, Pending, Scope))
      return E;
  return Error::success();
}

} // namespace r3
