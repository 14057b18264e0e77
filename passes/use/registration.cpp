// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/registration.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

/// Calls that register at start, without relocatable device code.
SmallVector<CallBase *, 1> registeringCalls(Module &Host, const Constant &Key) {
  SmallVector<CallBase *, 1> Calls;
  for (StringRef Name : {"__cudaRegisterFunction", "__hipRegisterFunction"})
    if (Function *Register = Host.getFunction(Name))
      for (User *U : Register->users())
        if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledFunction() == Register &&
                                                Call->arg_size() > 3 &&
                                                Call->getArgOperand(1)->stripPointerCasts() == &Key)
          Calls.push_back(Call);
  return Calls;
}

/// The entry in the table that the device link makes the registration of, with relocatable device code.
GlobalVariable *offloadEntry(Module &Host, const Constant &Key) {
  for (GlobalVariable &Entry : Host.globals())
    if (Entry.getSection().contains("offload") && Entry.hasInitializer())
      if (auto *Fields = dyn_cast<ConstantStruct>(Entry.getInitializer());
          Fields && any_of(Fields->operands(), [&](const Use &Field) { return Field.get() == &Key; }))
        return &Entry;
  return nullptr;
}

GlobalVariable *nameText(Module &Host, StringRef Name) {
  Constant *Text = ConstantDataArray::getString(Host.getContext(), Name);
  return new GlobalVariable(Host, Text->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage, Text,
                            "r3.version");
}

GlobalVariable *newKey(Module &Host, StringRef Name, GlobalValue::LinkageTypes Linkage) {
  Type *Byte = Type::getInt8Ty(Host.getContext());
  auto *Key = new GlobalVariable(Host, Byte, /*isConstant=*/false, Linkage, ConstantInt::get(Byte, 0), Name);
  if (!Key->hasLocalLinkage())
    Key->setVisibility(GlobalValue::HiddenVisibility);
  return Key;
}

void registerAlso(CallBase &Call, Constant &Key, GlobalVariable &Name) {
  Instruction *Also = Call.clone();
  auto &Copy = cast<CallBase>(*Also);
  Copy.setArgOperand(1, &Key);
  Copy.setArgOperand(2, &Name);
  Copy.setArgOperand(3, &Name);
  Copy.insertAfter(Call.getIterator());
}

/// The entry's copy for another kernel: the fields that name the old one name the new one.
void addEntry(Module &Host, const GlobalVariable &Entry, const Constant &OldKey, Constant &Key,
              StringRef Name) {
  auto *Fields = cast<ConstantStruct>(Entry.getInitializer());
  GlobalVariable *Text = nameText(Host, Name);
  SmallVector<Constant *, 9> Changed;
  for (const Use &Field : Fields->operands()) {
    auto *Own = cast<Constant>(Field.get());
    auto *Named = dyn_cast<GlobalVariable>(Own);
    bool IsName = Named && Named->hasInitializer() && isa<ConstantDataSequential>(Named->getInitializer());
    if (IsName)
      Text->setSection(Named->getSection());
    Changed.push_back(Own == &OldKey ? &Key : IsName ? Text : Own);
  }
  auto *Added =
      new GlobalVariable(Host, Fields->getType(), Entry.isConstant(), Entry.getLinkage(),
                         ConstantStruct::get(Fields->getType(), Changed), ".offloading.entry." + Name);
  Added->copyAttributesFrom(&Entry);
}

} // namespace

Constant *registerBeside(Module &Host, Constant &Key, StringRef Name) {
  SmallVector<CallBase *, 1> Calls = registeringCalls(Host, Key);
  GlobalVariable *Entry = Calls.empty() ? offloadEntry(Host, Key) : nullptr;
  if (Calls.empty() && !Entry)
    return nullptr;
  if (Entry) { // units that share a template's kernel share its entry, so they must share the key
    GlobalVariable *Added = newKey(Host, Name, GlobalValue::WeakAnyLinkage);
    addEntry(Host, *Entry, Key, *Added, Name);
    return Added;
  }
  GlobalVariable *Added = newKey(Host, Name, GlobalValue::InternalLinkage), *Text = nameText(Host, Name);
  for (CallBase *Call : Calls)
    registerAlso(*Call, *Added, *Text);
  return Added;
}

} // namespace r3
