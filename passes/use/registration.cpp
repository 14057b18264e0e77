// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/registration.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

/// The variable that holds a text; null for anything else.
GlobalVariable *textVariable(Value *Field) {
  auto *Named = dyn_cast<GlobalVariable>(Field->stripPointerCasts());
  return Named && Named->hasInitializer() && isa<ConstantDataSequential>(Named->getInitializer()) ? Named
                                                                                                  : nullptr;
}

bool holdsName(Value *Field, StringRef Name) {
  GlobalVariable *Text = textVariable(Field);
  auto *Content = Text ? cast<ConstantDataSequential>(Text->getInitializer()) : nullptr;
  return Content && Content->isCString() && Content->getAsCString() == Name;
}

SmallVector<CallBase *, 1> registeringCalls(Module &Host, StringRef Kernel) {
  SmallVector<CallBase *, 1> Calls;
  for (StringRef Name : {"__cudaRegisterFunction", "__hipRegisterFunction"})
    if (Function *Register = Host.getFunction(Name))
      for (User *U : Register->users())
        if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledFunction() == Register &&
                                                Call->arg_size() > 3 &&
                                                holdsName(Call->getArgOperand(3), Kernel))
          Calls.push_back(Call);
  return Calls;
}

ConstantStruct *fieldsOf(GlobalVariable &Entry) {
  return Entry.hasInitializer() ? dyn_cast<ConstantStruct>(Entry.getInitializer()) : nullptr;
}

GlobalVariable *offloadEntry(Module &Host, StringRef Kernel) {
  for (GlobalVariable &Entry : Host.globals())
    if (ConstantStruct *Fields = Entry.getSection().contains("offload") ? fieldsOf(Entry) : nullptr)
      if (any_of(Fields->operands(), [&](const Use &Field) { return holdsName(Field.get(), Kernel); }))
        return &Entry;
  return nullptr;
}

/// The address in a table's entry: the one pointer that is neither a text nor null.
Constant *addressIn(GlobalVariable &Entry) {
  for (Use &Field : fieldsOf(Entry)->operands())
    if (auto *Address = dyn_cast<GlobalValue>(Field->stripPointerCasts()); Address && !textVariable(Address))
      return Address;
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
void addEntry(Module &Host, const Registration &Known, Constant &Key, StringRef Name) {
  ConstantStruct *Fields = fieldsOf(*Known.entry);
  GlobalVariable *Text = nameText(Host, Name);
  SmallVector<Constant *, 9> Changed;
  for (const Use &Field : Fields->operands()) {
    auto *Own = cast<Constant>(Field.get());
    GlobalVariable *OldText = textVariable(Own);
    if (OldText)
      Text->setSection(OldText->getSection());
    Changed.push_back(Own == Known.key ? &Key : OldText ? Text : Own);
  }
  auto *Added =
      new GlobalVariable(Host, Fields->getType(), Known.entry->isConstant(), Known.entry->getLinkage(),
                         ConstantStruct::get(Fields->getType(), Changed), ".offloading.entry." + Name);
  Added->copyAttributesFrom(Known.entry);
}

} // namespace

std::optional<Registration> registrationOf(Module &Host, StringRef Kernel) {
  Registration Found{nullptr, registeringCalls(Host, Kernel), nullptr};
  if (!Found.calls.empty())
    Found.key = dyn_cast<Constant>(Found.calls.front()->getArgOperand(1)->stripPointerCasts());
  else if ((Found.entry = offloadEntry(Host, Kernel)))
    Found.key = addressIn(*Found.entry);
  return Found.key ? std::optional(std::move(Found)) : std::nullopt;
}

Constant *registerBeside(Module &Host, const Registration &Known, StringRef Name) {
  if (Known.entry) { // units that share a template's kernel share its entry, so they must share the key
    GlobalVariable *Added = newKey(Host, Name, GlobalValue::WeakAnyLinkage);
    addEntry(Host, Known, *Added, Name);
    return Added;
  }
  GlobalVariable *Added = newKey(Host, Name, GlobalValue::InternalLinkage), *Text = nameText(Host, Name);
  for (CallBase *Call : Known.calls)
    registerAlso(*Call, *Added, *Text);
  return Added;
}

} // namespace r3
