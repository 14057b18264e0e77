// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "digest/kernel_digest.h"

#include "common/describe.h"
#include "common/names.h"
#include "replay/extract.h"
#include "replay/ir_hash.h"
#include "replay/module.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

namespace {

using ValueSet = SmallPtrSet<const GlobalValue *, 32>;

/// Lists of what somebody keeps, in the source's order.
void dropLists(Module &M) {
  for (GlobalVariable &Variable : make_early_inc_range(M.globals()))
    if (Variable.hasAppendingLinkage())
      Variable.eraseFromParent();
}

bool isAssertion(const Function &F) {
  return F.arg_size() >= 4 && (F.getName() == "__assertfail" || F.getName().contains("__assert_fail"));
}

/// File, line and function of an assertion that fails change with edits elsewhere.
void dropPlacesOfAssertions(Module &M) {
  for (Function &F : M)
    for (User *U : F.users())
      if (auto *Call = dyn_cast<CallBase>(U); Call && isAssertion(F) && Call->getCalledFunction() == &F)
        for (unsigned Place = 1; Place < 4; ++Place)
          Call->setArgOperand(Place, Constant::getNullValue(Call->getArgOperand(Place)->getType()));
}

/// What keeps its name, as long as all that writes to it is still there.
ValueSet namedValues(const Module &M) {
  ValueSet Named;
  for (const GlobalValue &Value : M.global_values())
    if (Value.isDeclaration())
      Named.insert(&Value);
  for (const GlobalVariable &Variable : M.globals())
    if (isDeviceVariable(Variable) && isMutableGlobal(Variable))
      Named.insert(&Variable);
  return Named;
}

std::string canonicalName(const GlobalValue &Value, size_t Number, const ValueSet &Named) {
  if (Named.contains(&Value))
    return ptxName(withoutUnitId(Value.getName())); // as extraction may have named it
  return ("r3." + Twine(Number)).str();
}

/// What is still there of Closure. An indirect call's targets may be named by nothing but tables that the
/// kernel does not reach, and then go with them.
GlobalSet survivors(Module &M, const GlobalSet &Closure) {
  ValueSet Left;
  for (const GlobalValue &Value : M.global_values())
    Left.insert(&Value);
  GlobalSet Survivors;
  for (GlobalValue *Value : Closure)
    if (Left.contains(Value))
      Survivors.insert(Value);
  return Survivors;
}

/// Names first go away altogether, lest a new one meet an old one.
void rename(const GlobalSet &Closure, const ValueSet &Named) {
  SmallVector<std::string, 32> Names;
  for (size_t I = 0; I < Closure.size(); ++I)
    Names.push_back(canonicalName(*Closure[I], I, Named));
  auto isIntrinsic = [](const GlobalValue &Value) {
    const auto *F = dyn_cast<Function>(&Value);
    return F && F->isIntrinsic();
  };
  for (GlobalValue *Value : Closure)
    if (!isIntrinsic(*Value))
      Value->setName("");
  for (size_t I = 0; I < Closure.size(); ++I)
    if (!isIntrinsic(*Closure[I]))
      Closure[I]->setName(Names[I]);
}

void reorder(Module &M, const GlobalSet &Closure) {
  for (GlobalValue *Value : Closure) {
    if (auto *F = dyn_cast<Function>(Value)) {
      F->removeFromParent();
      M.getFunctionList().push_back(F);
    }
    if (auto *Variable = dyn_cast<GlobalVariable>(Value)) {
      M.removeGlobalVariable(Variable);
      M.insertGlobalVariable(Variable);
    }
  }
}

void dropTypeNames(Module &M) {
  for (StructType *Type : M.getIdentifiedStructTypes())
    if (Type->hasName())
      Type->setName("");
}

/// What aliasing metadata says of types, with numbers for the names that the source gives them. The nodes
/// themselves may be shared with the module that the kernel was taken from, so new ones take their place.
class AliasTypes {
public:
  explicit AliasTypes(LLVMContext &Context) : Context(Context) {}

  void rename(Function &F) {
    for (Instruction &I : instructions(F))
      for (unsigned Kind : {LLVMContext::MD_tbaa, LLVMContext::MD_tbaa_struct})
        if (MDNode *Node = I.getMetadata(Kind))
          I.setMetadata(Kind, cast<MDNode>(renamed(Node)));
  }

private:
  Metadata *renamed(Metadata *Old) {
    if (auto *Text = dyn_cast_or_null<MDString>(Old))
      return MDString::get(Context, numbered(Text->getString()));
    auto *Node = dyn_cast_or_null<MDNode>(Old);
    if (!Node)
      return Old;
    if (Metadata *Known = Nodes.lookup(Node))
      return Known;
    SmallVector<Metadata *, 8> Operands;
    for (const MDOperand &Operand : Node->operands())
      Operands.push_back(renamed(Operand.get()));
    return Nodes[Node] = MDNode::get(Context, Operands);
  }

  /// "p1 _ZTS5Names" is a pointer to such a type.
  std::string numbered(StringRef Text) {
    size_t At = Text.find("_ZTS");
    if (At == StringRef::npos)
      return Text.str();
    unsigned Number = Numbers.try_emplace(Text.drop_front(At), Numbers.size()).first->second;
    return (Text.take_front(At) + "r3." + Twine(Number)).str();
  }

  LLVMContext &Context;
  DenseMap<MDNode *, Metadata *> Nodes;
  StringMap<unsigned> Numbers;
};

/// Linkage tells what else the unit or its host code does with a symbol, and extraction changes it.
void normaliseLinkage(GlobalValue &Value, const ValueSet &Named) {
  if (Value.isDeclaration())
    return Value.setDSOLocal(false);
  if (auto *Object = dyn_cast<GlobalObject>(&Value))
    Object->setComdat(nullptr);
  Value.setVisibility(GlobalValue::DefaultVisibility);
  Value.setUnnamedAddr(GlobalValue::UnnamedAddr::None);
  if (auto *Variable = dyn_cast<GlobalVariable>(&Value); Variable && Named.contains(Variable))
    Variable->setExternallyInitialized(true);
  Value.setLinkage(GlobalValue::ExternalLinkage);
  Value.setDSOLocal(false); // which the others set on what is local
}

/// Cookies that lead inline assembly back to its source line.
void dropSourceCookies(Module &M) {
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      I.setMetadata("srcloc", nullptr);
}

/// All that speaks of the unit. How denormals are treated is in it, too, and stays.
void dropUnitMetadata(Module &M) {
  Metadata *FlushToZero = M.getModuleFlag("nvvm-reflect-ftz");
  SmallVector<NamedMDNode *, 8> All;
  for (NamedMDNode &Node : M.named_metadata())
    All.push_back(&Node);
  for (NamedMDNode *Node : All)
    Node->eraseFromParent();
  if (FlushToZero)
    M.addModuleFlag(Module::Override, "nvvm-reflect-ftz", FlushToZero);
}

std::string hashText(const Module &M) {
  std::string Text;
  raw_string_ostream Stream(Text);
  // The text has no producer in it, which bitcode has.
  M.print(Stream, nullptr);
  return toHex(SHA256::hash(arrayRefFromStringRef(Text)), /*LowerCase=*/true);
}

} // namespace

std::string kernelDigest(Module &M, Function &Kernel) {
  ValueSet Named = namedValues(M);
  dropLists(M);
  dropPlacesOfAssertions(M);
  GlobalSet Reached = reachableFrom(M, {&Kernel});
  removeAllBut(M, Reached);
  GlobalSet Closure = survivors(M, Reached);
  dropNoise(M);
  dropSourceCookies(M);
  dropUnitMetadata(M);
  rename(Closure, Named);
  for (GlobalValue *Value : Closure)
    normaliseLinkage(*Value, Named);
  dropTypeNames(M);
  reorder(M, Closure);
  AliasTypes Types(M.getContext());
  for (Function &F : M)
    Types.rename(F);
  return hashText(M);
}

} // namespace r3
