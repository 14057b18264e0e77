// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/extract.h"

#include "common/analyses.h"
#include "common/describe.h"
#include "common/names.h"
#include "replay/module.h"

#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace r3 {

namespace {

constexpr unsigned ConstantSpace = 4;

/// LLVM's NVPTX back end renames local symbols that PTX cannot spell, and those only: once external, a
/// variable must already bear the name that the application's code has.
void promote(GlobalVariable &Variable) {
  Variable.setName(ptxName(Variable.hasName() ? Variable.getName() : "r3.unnamed"));
  Variable.setLinkage(GlobalValue::ExternalLinkage);
  Variable.setUnnamedAddr(GlobalValue::UnnamedAddr::None);
  Variable.setExternallyInitialized(true);
}

/// Once the other kernels are gone, their stores are too, and LLVM would take the initialiser for the truth.
void promoteMutableInternals(Module &M) {
  for (GlobalVariable &Variable : M.globals())
    if (Variable.hasLocalLinkage() && isDeviceVariable(Variable) && isMutableGlobal(Variable))
      promote(Variable);
}

bool isHostWritableConstant(const GlobalVariable &Variable) {
  return Variable.getAddressSpace() == ConstantSpace && !Variable.isDeclaration() &&
         isMutableGlobal(Variable);
}

SmallVector<GlobalValue *, 16> rootsFor(Module &M, Function &Kernel) {
  SmallVector<GlobalValue *, 16> Roots = {&Kernel};
  for (GlobalVariable &Variable : M.globals())
    if (isHostWritableConstant(Variable))
      Roots.push_back(&Variable);
  return Roots;
}

bool isUsedList(const GlobalValue &Value) {
  return Value.getName() == "llvm.used" || Value.getName() == "llvm.compiler.used";
}

/// Local and without keepers, so that dead-code elimination may take it.
void release(GlobalValue &Value) {
  if (Value.isDeclaration() || Value.hasAppendingLinkage() || isUsedList(Value))
    return;
  if (auto *Object = dyn_cast<GlobalObject>(&Value))
    Object->setComdat(nullptr);
  Value.setVisibility(GlobalValue::DefaultVisibility);
  Value.setLinkage(GlobalValue::InternalLinkage);
}

/// Nobody reads annotations of the source, and they would keep all that they name.
void dropAnnotations(Module &M) {
  if (GlobalVariable *List = M.getGlobalVariable("llvm.global.annotations"))
    List->eraseFromParent();
}

void releaseAllBut(Module &M, const GlobalSet &Kept) {
  dropAnnotations(M);
  removeFromUsedLists(M, [&](Constant *C) {
    auto *Value = dyn_cast<GlobalValue>(C->stripPointerCasts());
    return !Value || !Kept.contains(Value);
  });
  for (GlobalValue &Value : M.global_values())
    if (!Kept.contains(&Value))
      release(Value);
}

void removeReleased(Module &M) { Analyses().run(M, "globaldce,strip-dead-prototypes,strip-dead-debug-info"); }

bool namesNothing(const MDNode &Annotation) {
  return Annotation.getNumOperands() > 0 && !Annotation.getOperand(0);
}

/// Entries of nvvm.annotations whose function or variable is gone have null for it.
void dropDeadAnnotations(Module &M) {
  NamedMDNode *Annotations = M.getNamedMetadata("nvvm.annotations");
  if (!Annotations)
    return;
  SmallVector<MDNode *, 16> Live;
  for (MDNode *Annotation : Annotations->operands())
    if (!namesNothing(*Annotation))
      Live.push_back(Annotation);
  Annotations->clearOperands();
  for (MDNode *Annotation : Live)
    Annotations->addOperand(Annotation);
}

} // namespace

void removeAllBut(Module &M, const GlobalSet &Kept) {
  releaseAllBut(M, Kept);
  removeReleased(M);
  dropDeadAnnotations(M);
}

void keepOnly(Module &M, Function &Kernel) {
  promoteMutableInternals(M);
  removeAllBut(M, reachableFrom(M, rootsFor(M, Kernel)));
}

Expected<KernelModule> loadKernelAlone(ArrayRef<uint8_t> Bitcode, StringRef Name, LLVMContext &Context) {
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Name, Context);
  if (Loaded)
    keepOnly(*Loaded->M, *Loaded->Kernel);
  return Loaded;
}

Expected<Product> extractKernel(ArrayRef<uint8_t> Bitcode, const KernelRequest &Request) {
  LLVMContext Context;
  Expected<KernelModule> Alone = loadKernelAlone(Bitcode, Request.Kernel, Context);
  if (!Alone)
    return Alone.takeError();
  Product Result;
  Result.Output = writeModule(*Alone->M);
  return Result;
}

} // namespace r3
