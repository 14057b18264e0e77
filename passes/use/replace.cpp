// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/replace.h"

#include "common/describe.h"
#include "common/names.h"
#include "replay/extract.h"
#include "replay/module.h"
#include "replay/result.h"

#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"

using namespace llvm;

namespace r3 {
namespace {

constexpr unsigned SharedSpace = 3;

/// While it lives, variables of a module are visible to the linker.
class WithExternalLinkage {
public:
  ~WithExternalLinkage() {
    for (auto [Variable, Linkage] : Original)
      Variable->setLinkage(Linkage);
  }

  void add(GlobalVariable &Variable) {
    Original.emplace_back(&Variable, Variable.getLinkage());
    Variable.setLinkage(GlobalValue::ExternalLinkage);
  }

private:
  std::vector<std::pair<GlobalVariable *, GlobalValue::LinkageTypes>> Original;
};

/// Equal constants of one context are one constant, unless they name globals; those are told apart.
bool haveSameContent(const GlobalVariable &Left, const GlobalVariable &Right) {
  if (Left.isDeclaration() || Right.isDeclaration() || Left.getValueType() != Right.getValueType() ||
      Left.getAddressSpace() != Right.getAddressSpace())
    return false;
  return Left.getInitializer() == Right.getInitializer();
}

/// The variable of M that Own, of the optimised module, is; null where M has none.
GlobalVariable *counterpart(Module &M, const GlobalVariable &Own) {
  GlobalVariable *Found = M.getGlobalVariable(Own.getName(), /*AllowInternal=*/true);
  if (!Found || Own.isDeclaration())
    return nullptr;
  bool IsHeld = isDeviceVariable(Own) && (isMutableGlobal(Own) || !Own.hasLocalLinkage());
  if (IsHeld)
    return Found;
  bool IsData = Own.isConstant() && Found->isConstant();
  bool IsShared = Own.getAddressSpace() == SharedSpace && Found->getAddressSpace() == SharedSpace;
  return (IsData || IsShared) && haveSameContent(Own, *Found) ? Found : nullptr;
}

void makeDeclaration(GlobalVariable &Variable) {
  Variable.setInitializer(nullptr);
  Variable.setLinkage(GlobalValue::ExternalLinkage);
  Variable.setComdat(nullptr);
  Variable.setDSOLocal(false);
}

/// M's variable takes the place of Own, whose code may read it at the alignment that Own has got.
void yieldTo(GlobalVariable &Of, GlobalVariable &Own, WithExternalLinkage &Visible) {
  if (!Of.isDeclaration())
    Of.setAlignment(std::max(Of.getAlign().valueOrOne(), Own.getAlign().valueOrOne()));
  Visible.add(Of);
  makeDeclaration(Own);
}

void dropNamedMetadata(Module &M) {
  SmallVector<NamedMDNode *, 8> Dropped;
  for (NamedMDNode &Node : M.named_metadata())
    if (Node.getName() != "llvm.dbg.cu")
      Dropped.push_back(&Node); // M has its own flags, identity and annotations
  for (NamedMDNode *Node : Dropped)
    Node->eraseFromParent();
}

void dropUsedLists(Module &M) {
  for (StringRef Name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *List = M.getGlobalVariable(Name))
      List->eraseFromParent();
}

std::string freeName(const Module &M, const Module &Other, StringRef Base) {
  for (unsigned Number = 0;; ++Number) {
    std::string Name = (Base + "__r3_" + Twine(Number)).str();
    if (!M.getNamedValue(Name) && !Other.getNamedValue(Name))
      return Name;
  }
}

/// What the kernel alone has gets a name that nothing in M has.
void makePrivate(GlobalValue &Value, const Module &M, ClosureLinkage Linkage) {
  Value.setName(freeName(M, *Value.getParent(), Value.hasName() ? Value.getName() : "r3.unnamed"));
  if (auto *Object = dyn_cast<GlobalObject>(&Value))
    Object->setComdat(nullptr);
  if (Linkage == ClosureLinkage::AsValidated)
    return;
  Value.setVisibility(GlobalValue::DefaultVisibility);
  Value.setLinkage(GlobalValue::InternalLinkage);
}

/// Another unit may replace such a function at link; M's own is the one that it would replace.
bool isReplaceable(const Module &M, const GlobalValue &Value) {
  return isa<Function>(Value) && Value.isInterposable() && M.getFunction(Value.getName());
}

void separate(Module &Optimised, const Function &Kernel, Module &M, ClosureLinkage Linkage,
              WithExternalLinkage &Visible) {
  for (GlobalVariable &Variable : Optimised.globals())
    if (GlobalVariable *Of = counterpart(M, Variable))
      yieldTo(*Of, Variable, Visible);
  for (GlobalValue &Value : Optimised.global_values()) {
    if (&Value == &Kernel || Value.isDeclaration())
      continue;
    if (isReplaceable(M, Value))
      cast<Function>(Value).deleteBody();
    else
      makePrivate(Value, M, Linkage);
  }
}

/// Links the kernel Name of Bitcode into M, where it is called NewName.
Error bringIn(Module &M, StringRef Name, StringRef NewName, ArrayRef<uint8_t> Bitcode,
              ClosureLinkage Linkage) {
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Name, M.getContext());
  if (!Loaded)
    return Loaded.takeError();
  Module &Optimised = *Loaded->M;
  Function &Kernel = *Loaded->Kernel;
  dropUsedLists(Optimised);
  removeAllBut(Optimised, reachableFrom(Optimised, {&Kernel}));
  dropNamedMetadata(Optimised);
  Kernel.setComdat(nullptr); // by its comdat a template's kernel would yield to the one in M
  Kernel.setName(NewName);
  WithExternalLinkage Visible;
  separate(Optimised, Kernel, M, Linkage, Visible);
  if (Linker::linkModules(M, std::move(Loaded->M), Linker::Flags::OverrideFromSrc))
    return makeError(R3_CODEGEN_ERROR, "the kernel \"" + Name + "\" can't be linked back into its unit");
  return Error::success();
}

} // namespace

void HeldVariables::hold(Module &M, const Function &Kernel) {
  for (const GlobalVariable *Reached : reachableGlobals(Kernel)) {
    GlobalVariable *Variable = M.getGlobalVariable(Reached->getName(), /*AllowInternal=*/true);
    if (!Variable || !Variable->hasLocalLinkage() || !isMutableGlobal(*Variable))
      continue;
    Variable->setName(ptxName(Variable->getName()));
    Held.push_back({Variable->getName().str(), Variable->getLinkage(), Variable->getUnnamedAddr(),
                    Variable->isExternallyInitialized()});
    Variable->setLinkage(GlobalValue::ExternalLinkage);
    Variable->setUnnamedAddr(GlobalValue::UnnamedAddr::None);
    Variable->setExternallyInitialized(true);
  }
}

void HeldVariables::release(Module &M) {
  for (const Variable &Kept : Held)
    if (GlobalVariable *Variable = M.getGlobalVariable(Kept.name, /*AllowInternal=*/true)) {
      Variable->setLinkage(Kept.linkage);
      Variable->setUnnamedAddr(Kept.unnamedAddr);
      Variable->setExternallyInitialized(Kept.externallyInitialized);
    }
  Held.clear();
}

Error replaceKernel(Module &M, StringRef Name, ArrayRef<uint8_t> Bitcode, ClosureLinkage Linkage) {
  if (!M.getFunction(Name))
    return makeError(R3_BAD_KERNEL, "the unit's pipeline has removed the kernel \"" + Name + "\"");
  return bringIn(M, Name, Name, Bitcode, Linkage);
}

Error addVersion(Module &M, StringRef Kernel, StringRef Version, ArrayRef<uint8_t> Bitcode,
                 ClosureLinkage Linkage) {
  return bringIn(M, Kernel, Version, Bitcode, Linkage);
}

} // namespace r3
