// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/note.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/GlobalVariable.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace r3 {
namespace {

constexpr uint32_t NoteType = 1, FormatVersion = 1, RelocatableFlag = 1, TunedFlag = 2;

/// Collects the note's fields. An offset refers to its own field, hence to the note itself, so the note must
/// exist, with its type, before its content does.
class NoteBuilder {
public:
  NoteBuilder(Module &M, const FatBinary &Binary, const NoteContent &Content)
      : M(M), Context(M.getContext()), Binary(Binary), Content(Content) {}

  GlobalVariable *build() {
    auto *Note = new GlobalVariable(M, type(), /*isConstant=*/true, GlobalValue::PrivateLinkage,
                                    /*Initializer=*/nullptr, "r3.note");
    Note->setInitializer(fields(*Note));
    makeOwnSection(*Note, ".note.r3", Align(4));
    return Note;
  }

private:
  // ELF note header and name, version, flags, five 64-bit fields, digest; packed.
  static constexpr unsigned FirstOffsetField = 6;

  StructType *type() const {
    Type *I32 = Type::getInt32Ty(Context), *I64 = Type::getInt64Ty(Context), *I8 = Type::getInt8Ty(Context);
    return StructType::get(
        Context,
        {I32, I32, I32, ArrayType::get(I8, 4), I32, I32, I64, I64, I64, I64, I64, ArrayType::get(I8, 32)},
        /*isPacked=*/true);
  }

  Constant *fields(GlobalVariable &Note) const {
    constexpr uint32_t NameSize = 3, DescriptorSize = 80;
    constexpr uint8_t Name[4] = {'R', '3', 0, 0};
    unsigned Field = FirstOffsetField;
    return ConstantStruct::get(
        type(),
        {number(NameSize), number(DescriptorSize), number(NoteType), ConstantDataArray::get(Context, Name),
         number(FormatVersion), number(flags()), offset(Note, Field, Binary.wrapper),
         offset(Note, Field + 1, Content.bitcode.global), longNumber(Content.bitcode.size),
         offset(Note, Field + 3, Content.json.global), longNumber(Content.json.size),
         ConstantDataArray::get(Context, ArrayRef(Binary.sha256.data(), Binary.sha256.size()))});
  }

  uint32_t flags() const { return (Binary.wrapper ? 0 : RelocatableFlag) | (Content.tuned ? TunedFlag : 0); }

  Constant *number(uint32_t Value) const { return ConstantInt::get(Type::getInt32Ty(Context), Value); }
  Constant *longNumber(uint64_t Value) const { return ConstantInt::get(Type::getInt64Ty(Context), Value); }

  /// The distance from the note's field to Target: a PC-relative relocation, so nothing is left to the
  /// dynamic linker. 0 where there is nothing.
  Constant *offset(GlobalVariable &Note, unsigned Field, GlobalVariable *Target) const {
    if (!Target)
      return longNumber(0);
    Type *I32 = Type::getInt32Ty(Context), *I64 = Type::getInt64Ty(Context);
    Constant *Place = ConstantExpr::getInBoundsGetElementPtr(
        Note.getValueType(), &Note,
        ArrayRef<Constant *>{ConstantInt::get(I32, 0), ConstantInt::get(I32, Field)});
    return ConstantExpr::getSub(ConstantExpr::getPtrToInt(Target, I64),
                                ConstantExpr::getPtrToInt(Place, I64));
  }

  Module &M;
  LLVMContext &Context;
  const FatBinary &Binary;
  const NoteContent &Content;
};

} // namespace

void makeOwnSection(GlobalVariable &Global, StringRef Section, Align Alignment) {
  Global.setSection(Section);
  Global.setAlignment(Alignment);
  Global.setUnnamedAddr(
      GlobalValue::UnnamedAddr::Global); // else it changes the object's address-significance table
  GlobalValue::SanitizerMetadata Unsanitized;
  Unsanitized.NoAddress = true; // no red zones between notes
  Unsanitized.NoHWAddress = true;
  Global.setSanitizerMetadata(Unsanitized);
}

GlobalVariable *addNote(Module &M, const FatBinary &Binary, const NoteContent &Content) {
  return NoteBuilder(M, Binary, Content).build();
}

} // namespace r3
