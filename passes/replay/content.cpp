// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/content.h"

#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/DerivedTypes.h"

using namespace llvm;

namespace r3 {
namespace {

/// A type's parts and where each lies.
SmallVector<std::pair<Type *, uint64_t>, 32> partsOf(Type *T, const DataLayout &Layout) {
  SmallVector<std::pair<Type *, uint64_t>, 32> Parts;
  if (auto *Struct = dyn_cast<StructType>(T))
    for (auto [Index, Field] : enumerate(Struct->elements()))
      Parts.emplace_back(Field, Layout.getStructLayout(Struct)->getElementOffset(Index).getFixedValue());
  if (auto *Array = dyn_cast<ArrayType>(T))
    for (uint64_t Index = 0; Index < Array->getNumElements(); ++Index)
      Parts.emplace_back(Array->getElementType(),
                         Index * Layout.getTypeAllocSize(Array->getElementType()).getFixedValue());
  return Parts;
}

} // namespace

bool holdsPointers(Type *T) { return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), holdsPointers); }

Constant *constantFrom(Type *T, StringRef Bytes, const DataLayout &Layout) {
  if (!T->isAggregateType()) {
    if (Bytes.size() < Layout.getTypeStoreSize(T).getFixedValue())
      return nullptr;
    Constant *Raw = ConstantDataArray::getRaw(Bytes, Bytes.size(), Type::getInt8Ty(T->getContext()));
    return ConstantFoldLoadFromConst(Raw, T, Layout);
  }
  SmallVector<Constant *, 32> Values;
  for (auto [Part, Offset] : partsOf(T, Layout)) {
    Constant *Value = constantFrom(Part, Bytes.substr(Offset), Layout);
    if (!Value)
      return nullptr;
    Values.push_back(Value);
  }
  if (auto *Struct = dyn_cast<StructType>(T))
    return ConstantStruct::get(Struct, Values);
  return ConstantArray::get(cast<ArrayType>(T), Values);
}

} // namespace r3
