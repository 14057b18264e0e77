// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/specialise.h"

#include "replay/module.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace r3 {
namespace {

/// The constant of a scalar type whose bytes in memory, lowest first, are these; null where there is none.
Constant *constantOf(Type *T, StringRef Bytes, const DataLayout &Layout) {
  if (!T->isIntegerTy() && !T->isFloatingPointTy())
    return nullptr;
  if (Layout.getTypeStoreSize(T).getFixedValue() != Bytes.size() || Bytes.size() > sizeof(uint64_t))
    return nullptr;
  uint64_t Bits = 0;
  for (char Byte : reverse(Bytes))
    Bits = Bits << 8 | static_cast<uint8_t>(Byte);
  unsigned Width = T->getPrimitiveSizeInBits();
  APInt Value = APInt(64, Bits).trunc(Width);
  if (T->isIntegerTy())
    return ConstantInt::get(T, Value);
  return ConstantFP::get(T->getContext(), APFloat(T->getFltSemantics(), Value));
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
  Constant *Value = constantOf(Parameter->getType(), Bytes, Kernel.getParent()->getDataLayout());
  if (!Value)
    return makeError(R3_BAD_REQUEST, "parameter " + Number + " of " + Kernel.getName() + " is no scalar of " +
                                         Twine(Bytes.size()) + " bytes");
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
  Expected<std::unique_ptr<Module>> M = loadModule(Bitcode, Context);
  if (!M)
    return M.takeError();
  Expected<Function *> Kernel = findKernel(**M, Request.Kernel);
  if (!Kernel)
    return Kernel.takeError();
  for (const std::string &Text : Request.Arguments)
    if (Error E = fixArgument(**Kernel, Text))
      return E;
  if (Error E = fixDimensions(**M, "llvm.nvvm.read.ptx.sreg.ntid.", Request.Block))
    return E;
  if (Error E = fixDimensions(**M, "llvm.nvvm.read.ptx.sreg.nctaid.", Request.Grid))
    return E;
  Product Result;
  Result.Output = writeModule(**M);
  return Result;
}

} // namespace r3
