// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/host_parts.h"

#include "common/names.h"
#include "replay/module.h"

#include "../record_runtime/cpu/module_abi.h"

#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

/// Names as the extracted module has them, whichever module this is: PTX cannot spell all of them.
std::string sharedName(StringRef Name) { return "r3cpu.variable." + ptxName(Name); }

/// Whatever may be written; what the optimiser may take for constant belongs to each part.
bool isVariable(const GlobalVariable &Variable) {
  return Variable.hasInternalLinkage() && !Variable.isConstant() && !Variable.isDeclaration();
}

void makeShared(GlobalValue &Value) {
  Value.setLinkage(GlobalValue::ExternalLinkage);
  Value.setVisibility(GlobalValue::HiddenVisibility);
}

SmallVector<GlobalVariable *> shareVariables(Module &M) {
  SmallVector<GlobalVariable *> Shared;
  for (GlobalVariable &Variable : M.globals())
    if (isVariable(Variable))
      Shared.push_back(&Variable);
  for (GlobalVariable *Variable : Shared) {
    Variable->setName(sharedName(Variable->getName()));
    makeShared(*Variable);
    Variable->setUnnamedAddr(GlobalValue::UnnamedAddr::None);
  }
  return Shared;
}

/// The table and what it alone names.
void dropTable(Module &M) {
  if (GlobalVariable *Table = M.getGlobalVariable(R3CPU_MODULE_SYMBOL))
    Table->eraseFromParent();
  for (bool Dropped = true; Dropped;) {
    Dropped = false;
    for (GlobalVariable &Data : make_early_inc_range(M.globals()))
      if (Data.hasPrivateLinkage() && Data.use_empty()) {
        Data.eraseFromParent();
        Dropped = true;
      }
  }
}

struct Loaded {
  std::unique_ptr<Module> module;
  Function *entry;
};

Expected<Loaded> load(ArrayRef<uint8_t> Lowered, StringRef Kernel, LLVMContext &Context) {
  Expected<std::unique_ptr<Module>> M = loadModule(Lowered, Context);
  if (!M)
    return M.takeError();
  Function *Entry = (*M)->getFunction(("r3cpu.entry." + Kernel).str());
  if (!Entry)
    return makeError(R3_BAD_KERNEL, "the lowered module has no kernel \"" + Kernel + "\"");
  return Loaded{std::move(*M), Entry};
}

Product written(const Module &M) {
  Product Result;
  Result.Output = writeModule(M);
  return Result;
}

} // namespace

Expected<Product> hostWithout(ArrayRef<uint8_t> Lowered, const KernelRequest &Request) {
  LLVMContext Context;
  Expected<Loaded> From = load(Lowered, Request.Kernel, Context);
  if (!From)
    return From.takeError();
  shareVariables(*From->module);
  From->entry->deleteBody();
  makeShared(*From->entry);
  return written(*From->module);
}

Expected<Product> hostAlone(ArrayRef<uint8_t> Lowered, const KernelRequest &Request) {
  LLVMContext Context;
  Expected<Loaded> From = load(Lowered, Request.Kernel, Context);
  if (!From)
    return From.takeError();
  dropTable(*From->module);
  for (GlobalVariable *Variable : shareVariables(*From->module))
    Variable->setInitializer(nullptr);
  makeShared(*From->entry);
  return written(*From->module);
}

} // namespace r3
