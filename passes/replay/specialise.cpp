// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/specialise.h"

#include "replay/content.h"
#include "replay/module.h"
#include "replay/tables.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace r3 {
namespace {

/// The value of an argument's type with exactly these bytes; null where there is none.
Constant *exactly(Type *T, StringRef Bytes, const DataLayout &Layout) {
  bool IsScalar = T->isIntegerTy() || T->isFloatingPointTy();
  uint64_t Size = (IsScalar ? Layout.getTypeStoreSize(T) : Layout.getTypeAllocSize(T)).getFixedValue();
  return Size == Bytes.size() && !holdsPointers(T) ? constantFrom(T, Bytes, Layout) : nullptr;
}

GlobalVariable *variableWith(Module &M, Constant *Content, StringRef Name, unsigned Space) {
  auto *Variable =
      new GlobalVariable(M, Content->getType(), /*isConstant=*/true, GlobalValue::InternalLinkage, Content,
                         Name, nullptr, GlobalValue::NotThreadLocal, Space);
  Variable->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return Variable;
}

/// A struct passed by value is the kernel's own copy, which it may change: it gets one of the constants.
void fixStruct(Argument &Parameter, Constant *Content) {
  Function &Kernel = *Parameter.getParent();
  Module &M = *Kernel.getParent();
  const DataLayout &Layout = M.getDataLayout();
  unsigned Space = Parameter.getType()->getPointerAddressSpace();
  bool IsOwn = Parameter.hasByValAttr();
  GlobalVariable *Fixed = variableWith(M, Content, Kernel.getName().str() + "_fixed",
                                       IsOwn ? Layout.getDefaultGlobalsAddressSpace() : Space);
  Align Known = std::max(Layout.getABITypeAlign(Content->getType()), Parameter.getParamAlign().valueOrOne());
  Fixed->setAlignment(Known);
  if (!IsOwn)
    return Parameter.replaceAllUsesWith(Fixed);
  IRBuilder<> Builder(&*Kernel.getEntryBlock().getFirstNonPHIOrDbgOrAlloca());
  AllocaInst *Copy = Builder.CreateAlloca(Content->getType(), Layout.getAllocaAddrSpace());
  Copy->setAlignment(Known);
  Copy->moveBefore(Kernel.getEntryBlock().begin());
  Builder.CreateMemCpy(Copy, Known, Fixed, Known, Layout.getTypeAllocSize(Content->getType()));
  Parameter.replaceAllUsesWith(Builder.CreatePointerBitCastOrAddrSpaceCast(Copy, Parameter.getType()));
}

/// "2=10270000": a parameter's index and its bytes.
Error fixArgument(Function &Kernel, StringRef Text) {
  auto [Number, Hex] = Text.split('=');
  unsigned Index;
  std::string Bytes;
  if (Number.getAsInteger(10, Index) || Index >= Kernel.arg_size() || !tryGetFromHex(Hex, Bytes))
    return makeError(R3_BAD_REQUEST,
                     "\"" + Text + "\" is no parameter of " + Kernel.getName() + " with its bytes in hex");
  Argument *Parameter = Kernel.getArg(Index);
  Type *Struct =
      Parameter->getParamByValType() ? Parameter->getParamByValType() : Parameter->getParamByRefType();
  Constant *Value =
      exactly(Struct ? Struct : Parameter->getType(), Bytes, Kernel.getParent()->getDataLayout());
  if (!Value)
    return makeError(R3_BAD_REQUEST, "parameter " + Number + " of " + Kernel.getName() +
                                         " is no scalar and no struct without pointers of " +
                                         Twine(Bytes.size()) + " bytes");
  if (Struct)
    fixStruct(*Parameter, Value);
  else
    Parameter->replaceAllUsesWith(Value);
  return Error::success();
}

/// "128,1,1"
Expected<SmallVector<unsigned, 3>> extents(StringRef Text) {
  SmallVector<unsigned, 3> Extents;
  unsigned Extent;
  for (StringRef Part : split(Text, ',')) {
    if (Part.getAsInteger(10, Extent) || Extent == 0)
      return makeError(R3_BAD_REQUEST, "\"" + Text + "\" are no three extents");
    Extents.push_back(Extent);
  }
  if (Extents.size() != 3)
    return makeError(R3_BAD_REQUEST, "\"" + Text + "\" are no three extents");
  return Extents;
}

/// Reads of the special registers Prefix + "x", "y" and "z" become the extents.
Error fixDimensions(Module &M, StringRef Prefix, const std::optional<std::string> &Text) {
  if (!Text)
    return Error::success();
  Expected<SmallVector<unsigned, 3>> Extents = extents(*Text);
  if (!Extents)
    return Extents.takeError();
  for (auto [Axis, Extent] : zip_equal(StringRef("xyz"), *Extents)) {
    Function *Read = M.getFunction((Prefix + Twine(Axis)).str());
    if (!Read)
      continue;
    for (User *U : make_early_inc_range(Read->users())) {
      auto *Call = dyn_cast<CallBase>(U);
      if (!Call || Call->getCalledFunction() != Read)
        continue;
      Call->replaceAllUsesWith(ConstantInt::get(Call->getType(), Extent));
      Call->eraseFromParent();
    }
  }
  return Error::success();
}

} // namespace

Expected<Product> specialiseKernel(ArrayRef<uint8_t> Bitcode, const SpecialiseRequest &Request) {
  LLVMContext Context;
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Request.Kernel, Context);
  if (!Loaded)
    return Loaded.takeError();
  Module &M = *Loaded->M;
  Function &Kernel = *Loaded->Kernel;
  for (const std::string &Text : Request.Arguments)
    if (Error E = fixArgument(Kernel, Text))
      return E;
  if (Error E = fixDimensions(M, "llvm.nvvm.read.ptx.sreg.ntid.", Request.Block))
    return E;
  if (Error E = fixDimensions(M, "llvm.nvvm.read.ptx.sreg.nctaid.", Request.Grid))
    return E;
  std::vector<Table> Tables;
  for (const std::string &Text : Request.Tables) {
    Expected<Table> Parsed = parseTable(Text);
    if (!Parsed)
      return Parsed.takeError();
    Tables.push_back(std::move(*Parsed));
  }
  if (Error E = fixTables(M, Kernel, Tables))
    return E;
  Product Result;
  Result.Output = writeModule(M);
  return Result;
}

} // namespace r3
