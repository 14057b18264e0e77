// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/module.h"

#include "common/describe.h"
#include "replay/result.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

Expected<std::unique_ptr<Module>> loadModule(ArrayRef<uint8_t> Bitcode, LLVMContext &Context) {
  MemoryBufferRef Buffer(toStringRef(Bitcode), "module");
  Expected<std::unique_ptr<Module>> M = parseBitcodeFile(Buffer, Context);
  if (!M)
    return makeError(R3_BAD_BITCODE,
                     "not a module that LLVM " LLVM_VERSION_STRING " can read: " + toString(M.takeError()));
  std::string Complaint;
  raw_string_ostream Stream(Complaint);
  if (verifyModule(**M, &Stream))
    return makeError(R3_BAD_BITCODE, "the module is not valid: " + StringRef(Complaint).split('\n').first);
  return M;
}

SmallVector<char, 0> writeModule(const Module &M) {
  SmallVector<char, 0> Bytes;
  raw_svector_ostream Stream(Bytes);
  // Use lists order predecessors, and with them what some passes do: the written module must behave as this
  // one.
  WriteBitcodeToFile(M, Stream, /*ShouldPreserveUseListOrder=*/true);
  return Bytes;
}

Expected<KernelModule> loadKernel(ArrayRef<uint8_t> Bitcode, StringRef Name, LLVMContext &Context) {
  Expected<std::unique_ptr<Module>> M = loadModule(Bitcode, Context);
  if (!M)
    return M.takeError();
  Function *F = (*M)->getFunction(Name);
  if (F && isKernel(*F))
    return KernelModule{std::move(*M), F};
  return makeError(R3_BAD_KERNEL, "the module has no kernel \"" + Name + "\"");
}

namespace {

class Reachability {
public:
  explicit Reachability(Module &M) : M(M) {}

  GlobalSet run(ArrayRef<GlobalValue *> Roots) {
    for (GlobalValue *Root : Roots)
      Reached.insert(Root);
    // Reached grows while it is walked.
    for (size_t Next = 0; Next < Reached.size(); ++Next)
      visit(*Reached[Next]);
    return std::move(Reached);
  }

private:
  void visit(GlobalValue &Value) {
    if (auto *F = dyn_cast<Function>(&Value))
      visitFunction(*F);
    else
      visitOperands(Value);
  }

  void visitFunction(Function &F) {
    visitOperands(F);
    for (Instruction &I : instructions(F)) {
      visitOperands(I);
      auto *Call = dyn_cast<CallBase>(&I);
      if (Call && Call->isIndirectCall())
        addAddressTaken();
    }
  }

  void visitOperands(User &U) {
    for (Value *Operand : U.operands())
      if (auto *C = dyn_cast<Constant>(Operand))
        visitConstant(*C);
  }

  void visitConstant(Constant &C) {
    if (auto *Global = dyn_cast<GlobalValue>(&C))
      Reached.insert(Global);
    else if (Seen.insert(&C).second)
      visitOperands(C);
  }

  void addAddressTaken() {
    if (AddedAddressTaken)
      return;
    AddedAddressTaken = true;
    SmallVector<Function *, 16> Taken;
    for (Function &F : M) {
      F.removeDeadConstantUsers();
      if (F.hasAddressTaken(nullptr, /*IgnoreCallbackUses=*/false, /*IgnoreAssumeLikeCalls=*/true,
                            /*IgnoreLLVMUsed=*/true))
        Taken.push_back(&F);
    }
    // Digests must not depend on where in the source they stand.
    sort(Taken, [](Function *Left, Function *Right) { return Left->getName() < Right->getName(); });
    Reached.insert_range(Taken);
  }

  Module &M;
  GlobalSet Reached;
  SmallPtrSet<Constant *, 32> Seen;
  bool AddedAddressTaken = false;
};

} // namespace

GlobalSet reachableFrom(Module &M, ArrayRef<GlobalValue *> Roots) { return Reachability(M).run(Roots); }

} // namespace r3
