// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/entries.h"

#include "cpu/intrinsics.h"
#include "cpu/parallel_loop.h"

#include "../record_runtime/cpu/module_abi.h"

#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace r3::cpu {

namespace {

/// A kernel's own parameter `Index`, behind the hidden ones.
Argument &parameter(const Kernel &K, unsigned Index) { return *K.Body->getArg(HiddenParameterCount + Index); }

// A struct passed by value lies in the argument buffer: CUDA's kernels own a copy of it (byval), HIP's read
// it there (byref).
bool isInBuffer(const Argument &A) { return A.hasByValAttr() || A.hasByRefAttr(); }

Type *valueType(const Argument &A) {
  if (A.hasByRefAttr())
    return A.getParamByRefType();
  return A.hasByValAttr() ? A.getParamByValType() : A.getType();
}

// The driver's layout: each parameter at its own alignment, in order.
std::vector<KernelParameter> layout(const HostModule &Host, const Kernel &K) {
  const DataLayout &Layout = Host.M->getDataLayout();
  std::vector<KernelParameter> Parameters;
  uint64_t End = 0;
  for (unsigned I = 0; I + HiddenParameterCount < K.Body->arg_size(); ++I) {
    Argument &A = parameter(K, I);
    Align Alignment = Layout.getABITypeAlign(valueType(A));
    if (isInBuffer(A))
      Alignment = std::max(Alignment, A.getParamAlign().valueOrOne());
    uint64_t Offset = alignTo(End, Alignment);
    uint64_t Size = Layout.getTypeAllocSize(valueType(A));
    Parameters.push_back({Offset, Size});
    End = Offset + Size;
  }
  return Parameters;
}

bool onlyRead(const Value &Pointer) {
  for (const Use &U : Pointer.uses()) {
    const User *User = U.getUser();
    if (isa<LoadInst>(User))
      continue;
    if (isa<GetElementPtrInst>(User) && onlyRead(*User))
      continue;
    if (auto *Copy = dyn_cast<MemTransferInst>(User); Copy && U.getOperandNo() == 1)
      continue;
    if (isa<LifetimeIntrinsic>(User))
      continue;
    return false;
  }
  return true;
}

class EntryBuilder {
public:
  EntryBuilder(HostModule &Host, const Kernel &K, bool Fiber)
      : Host(Host), K(K), Fiber(Fiber), B(Host.M->getContext()) {
    Parameters = layout(Host, K);
  }

  Function *build() {
    declare();
    B.SetInsertPoint(BasicBlock::Create(Host.M->getContext(), "entry", Entry));
    SmallVector<Value *> Own = loadParameters();
    if (Fiber) {
      callBody(Entry->getArg(2), Entry->getArg(3), Entry->getArg(4), Own);
      B.CreateRetVoid();
    } else {
      loopOverThreads(Own);
    }
    return Entry;
  }

  std::vector<KernelParameter> Parameters;

private:
  void declare() {
    Type *Pointer = B.getPtrTy();
    SmallVector<Type *> Types{Pointer, Pointer};
    if (Fiber)
      Types.append(3, B.getInt32Ty());
    Entry = Function::Create(FunctionType::get(B.getVoidTy(), Types, false), GlobalValue::InternalLinkage,
                             "r3cpu.entry." + K.Name, *Host.M);
    for (StringRef Name : {"target-cpu", "target-features"})
      if (K.Body->hasFnAttribute(Name))
        Entry->addFnAttr(K.Body->getFnAttribute(Name));
    Entry->addFnAttr(Attribute::NoUnwind);
    Entry->addParamAttr(0, Attribute::NoAlias);
    Entry->addParamAttr(1, Attribute::NoAlias);
    Entry->addParamAttr(1, Attribute::ReadOnly);
    Entry->getArg(0)->setName("block");
    Entry->getArg(1)->setName("arguments");
  }

  SmallVector<Value *> loadParameters() {
    SmallVector<Value *> Values;
    for (unsigned I = 0; I < Parameters.size(); ++I) {
      Value *Address = B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Entry->getArg(1), Parameters[I].Offset);
      Argument &A = parameter(K, I);
      Values.push_back(isInBuffer(A) ? Address : B.CreateLoad(A.getType(), Address));
    }
    return Values;
  }

  // Each thread has its own copy of a parameter that it writes to.
  void copyWrittenParameters(SmallVectorImpl<Value *> &Own) {
    for (unsigned I = 0; I < Own.size(); ++I) {
      Argument &A = parameter(K, I);
      if (!A.hasByValAttr() || onlyRead(A))
        continue;
      IRBuilder<> Top(&*Entry->getEntryBlock().begin());
      AllocaInst *Copy = Top.CreateAlloca(A.getParamByValType());
      Align Alignment = std::max(Copy->getAlign(), A.getParamAlign().valueOrOne());
      Copy->setAlignment(Alignment);
      B.CreateMemCpy(Copy, Alignment, Own[I], Alignment, Parameters[I].Size);
      Own[I] = Copy;
    }
  }

  void callBody(Value *X, Value *Y, Value *Z, SmallVector<Value *> Own) {
    copyWrittenParameters(Own);
    SmallVector<Value *> Arguments{Entry->getArg(0), X, Y, Z};
    Arguments.append(Own);
    B.CreateCall(K.Body, Arguments);
  }

  struct Loop {
    BasicBlock *Header;
    PHINode *Index;
    Value *Extent;
  };

  // Extents are at least 1, so the loops test at their end.
  Loop beginLoop(Value *Extent, const char *Name) {
    BasicBlock *Before = B.GetInsertBlock();
    BasicBlock *Header = BasicBlock::Create(B.getContext(), Name, Entry);
    B.CreateBr(Header);
    B.SetInsertPoint(Header);
    PHINode *Index = B.CreatePHI(B.getInt32Ty(), 2, Twine("thread.") + Name);
    Index->addIncoming(B.getInt32(0), Before);
    return {Header, Index, Extent};
  }

  BranchInst *endLoop(Loop L) {
    Value *Next = B.CreateAdd(L.Index, B.getInt32(1), "", /*HasNUW=*/true, /*HasNSW=*/true);
    Value *More = B.CreateICmpULT(Next, L.Extent);
    BasicBlock *After = BasicBlock::Create(B.getContext(), "after", Entry);
    L.Index->addIncoming(Next, B.GetInsertBlock());
    BranchInst *Latch = B.CreateCondBr(More, L.Header, After);
    B.SetInsertPoint(After);
    return Latch;
  }

  void loopOverThreads(const SmallVector<Value *> &Own) {
    Value *Extents[3];
    for (unsigned Axis = 0; Axis < 3; ++Axis)
      Extents[Axis] = loadBlockField(B, Entry->getArg(0), BlockExtentField, Axis);
    Loop Z = beginLoop(Extents[2], "z");
    Loop Y = beginLoop(Extents[1], "y");
    Loop X = beginLoop(Extents[0], "x");
    callBody(X.Index, Y.Index, Z.Index, Own);
    BranchInst *Latch = endLoop(X);
    endLoop(Y);
    endLoop(Z);
    B.CreateRetVoid();
    markParallel(*Entry, *Latch);
  }

  HostModule &Host;
  const Kernel &K;
  bool Fiber;
  IRBuilder<> B;
  Function *Entry = nullptr;
};

/// Constant data of the table, in the layout of module_abi.h.
class TableBuilder {
public:
  explicit TableBuilder(HostModule &Host)
      : M(*Host.M), C(M.getContext()), Word(Type::getInt32Ty(C)), Long(Type::getInt64Ty(C)),
        Pointer(PointerType::get(C, 0)) {}

  void build(HostModule &Host, ArrayRef<Entry> Entries) {
    Wave = Host.Wave;
    std::vector<Constant *> Kernels, Variables;
    for (const Entry &E : Entries)
      Kernels.push_back(kernel(E));
    for (const DeviceVariable &V : Host.Variables)
      Variables.push_back(variable(V));
    Constant *Table =
        ConstantStruct::getAnon({word(R3CPU_MODULE_VERSION), word(Kernels.size()), array(Kernels),
                                 word(Variables.size()), word(0), array(Variables)});
    // Not constant: the optimiser must not know which variables and kernels the engine will reach through it.
    new GlobalVariable(M, Table->getType(), false, GlobalValue::ExternalLinkage, Table, R3CPU_MODULE_SYMBOL);
  }

private:
  Constant *word(uint64_t V) { return ConstantInt::get(Word, V); }

  Constant *text(StringRef S) {
    Constant *Bytes = ConstantDataArray::getString(C, S);
    return privateGlobal(Bytes);
  }

  Constant *privateGlobal(Constant *Value) {
    auto *G =
        new GlobalVariable(M, Value->getType(), true, GlobalValue::PrivateLinkage, Value, "r3cpu.table");
    return G;
  }

  Constant *array(ArrayRef<Constant *> Elements) {
    if (Elements.empty())
      return ConstantPointerNull::get(Pointer);
    return privateGlobal(
        ConstantArray::get(ArrayType::get(Elements.front()->getType(), Elements.size()), Elements));
  }

  Constant *kernel(const Entry &E) {
    std::vector<Constant *> Parameters;
    for (KernelParameter P : E.Parameters)
      Parameters.push_back(ConstantStruct::getAnon({word(P.Offset), word(P.Size)}));
    return ConstantStruct::getAnon({text(E.Name), E.Function, array(Parameters), word(Parameters.size()),
                                    word(E.Fiber ? R3CPU_FORM_FIBER : R3CPU_FORM_LOOP), word(E.StaticShared),
                                    word(E.MaxThreads), word(Wave)});
  }

  Constant *variable(const DeviceVariable &V) {
    uint64_t Size = M.getDataLayout().getTypeAllocSize(V.Variable->getValueType());
    return ConstantStruct::getAnon(
        {text(V.Name), V.Variable, ConstantInt::get(Long, Size), word(V.Constant), word(0)});
  }

  Module &M;
  LLVMContext &C;
  unsigned Wave = 32;
  Type *Word, *Long;
  PointerType *Pointer;
};

} // namespace

Entry makeEntry(HostModule &Host, const Kernel &K, bool Suspends, uint64_t StaticShared) {
  EntryBuilder Builder(Host, K, Suspends);
  Function *F = Builder.build();
  return {K.Name, F, Suspends, StaticShared, K.MaxThreads, std::move(Builder.Parameters)};
}

void addModuleTable(HostModule &Host, ArrayRef<Entry> Entries) { TableBuilder(Host).build(Host, Entries); }

} // namespace r3::cpu
