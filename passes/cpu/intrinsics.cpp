// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/intrinsics.h"

#include "cpu/emitters.h"
#include "cpu/inline_asm.h"
#include "cpu/math.h"
#include "replay/result.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/ValueHandle.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;

namespace r3::cpu {

Value *hidden(CallInst &Call, HiddenParameter Which) { return Call.getFunction()->getArg(Which); }

CallInst *callEngine(IRBuilder<> &B, StringRef Name, Type *Result, ArrayRef<Value *> Arguments) {
  SmallVector<Type *> Types;
  for (Value *A : Arguments)
    Types.push_back(A->getType());
  Module &M = *B.GetInsertBlock()->getModule();
  FunctionCallee Callee = M.getOrInsertFunction(Name, FunctionType::get(Result, Types, false));
  cast<Function>(Callee.getCallee())->setDoesNotThrow();
  return B.CreateCall(Callee, Arguments);
}

static StructType *blockType(LLVMContext &C) {
  Type *Word = Type::getInt32Ty(C);
  Type *Three = ArrayType::get(Word, 3);
  Type *Pointer = PointerType::get(C, 0);
  return StructType::get(
      C, {Three, Three, Three, Word, Pointer, Pointer, Word, Word, Type::getInt64Ty(C), Pointer, Pointer});
}

Value *blockField(IRBuilderBase &B, Value *Block, unsigned Field, unsigned Element) {
  StructType *T = blockType(B.getContext());
  if (T->getElementType(Field)->isArrayTy())
    return B.CreateConstInBoundsGEP2_32(T->getElementType(Field), B.CreateStructGEP(T, Block, Field), 0,
                                        Element);
  return B.CreateStructGEP(T, Block, Field);
}

LoadInst *loadBlockField(IRBuilderBase &B, Value *Block, unsigned Field, unsigned Element) {
  Type *T = blockType(B.getContext())->getElementType(Field);
  if (T->isArrayTy())
    T = T->getArrayElementType();
  LoadInst *Load = B.CreateLoad(T, blockField(B, Block, Field, Element));
  Load->setMetadata(LLVMContext::MD_invariant_load, MDNode::get(B.getContext(), {}));
  return Load;
}

namespace {

class Lowering {
public:
  explicit Lowering(HostModule &Host) : Host(Host) {}

  Expected<DenseSet<Function *>> run() {
    for (Function &F : *Host.M)
      if (!F.isDeclaration())
        if (Error E = lowerFunction(F))
          return std::move(E);
    removeUnusedDeclarations();
    return suspendingFunctions();
  }

private:
  // Only a launch that gets there fails: the unit's other kernels, and other paths of this one, run.
  Error refuse(CallInst &Call, const Twine &What) {
    std::string Line;
    if (const DebugLoc &Location = Call.getDebugLoc())
      Line = " (line " + std::to_string(Location.getLine()) + ")";
    IRBuilder<> B(&Call);
    Value *Sentence =
        B.CreateGlobalString(("it uses " + What + Line + ", which the cpu device does not have").str());
    callEngine(B, "r3cpu_unsupported", B.getVoidTy(), {hidden(Call, BlockParameter), Sentence});
    cutAfter(Call);
    return replace(Call, Call.getType()->isVoidTy() ? nullptr : PoisonValue::get(Call.getType()));
  }

  Error lowerFunction(Function &F) {
    // Weak: what follows a trap is removed with it.
    SmallVector<WeakVH> Calls;
    for (Instruction &I : instructions(F)) {
      if (auto *Call = dyn_cast<CallInst>(&I))
        Calls.push_back(Call);
      else if (isa<InvokeInst, CallBrInst>(I))
        return makeError(R3_UNSUPPORTED, "function '" + demangle(F.getName()) + "' has the instruction '" +
                                             I.getOpcodeName() + "', which the cpu device does not have");
    }
    for (WeakVH &Call : Calls)
      if (Call)
        if (Error E = lowerCall(cast<CallInst>(*Call)))
          return E;
    return Error::success();
  }

  Error lowerCall(CallInst &Call) {
    if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand())) {
      IRBuilder<> B(&Call);
      if (Emitted Result = emitInlineAsm(B, Call, *Asm))
        return replace(Call, *Result);
      return refuse(Call, "inline PTX '" + Asm->getAsmString() + "'");
    }
    Function *Callee = Call.getCalledFunction();
    if (!Callee || !Callee->isDeclaration())
      return Error::success();
    IRBuilder<> B(&Call);
    StringRef Name = Callee->getName();
    if (isHostMath(Name))
      return replace(Call, emitHostMath(B, Call));
    if (Name.consume_front("llvm.nvvm."))
      return lowerNvvm(B, Call, Name);
    if (Name.consume_front("llvm.amdgcn."))
      return lowerAmdgcn(B, Call, Name);
    if (Name.starts_with("llvm.read_register."))
      return lowerReadRegister(B, Call);
    if (Callee->isIntrinsic())
      return lowerGeneric(B, Call);
    return lowerLibraryCall(B, Call);
  }

  Error lowerNvvm(IRBuilder<> &B, CallInst &Call, StringRef Name) {
    for (auto Family : {emitSpecialRegister, emitSynchronisation, emitMemory, emitArithmetic})
      if (Emitted Result = Family(B, Call, Name)) {
        if (Name == "exit")
          cutAfter(Call);
        return replace(Call, *Result);
      }
    return refuse(Call, "the instruction '" + Call.getCalledFunction()->getName() + "'");
  }

  Error lowerAmdgcn(IRBuilder<> &B, CallInst &Call, StringRef Name) {
    for (auto Family : {emitAmdgcnPlace, emitAmdgcnWave, emitAmdgcnMemory, emitAmdgcnArithmetic})
      if (Emitted Result = Family(B, Call, Name)) {
        if (Name == "endpgm")
          cutAfter(Call);
        return replace(Call, *Result);
      }
    return refuse(Call, "the instruction '" + Call.getCalledFunction()->getName() + "'");
  }

  // "exec" is the one register that HIP's headers read by name: who else is here.
  Error lowerReadRegister(IRBuilder<> &B, CallInst &Call) {
    if (Emitted Result = emitExecMask(B, Call))
      return replace(Call, *Result);
    return refuse(Call, "a register by its name");
  }

  Error lowerGeneric(IRBuilder<> &B, CallInst &Call) {
    Intrinsic::ID ID = Call.getIntrinsicID();
    if (ID != Intrinsic::trap && ID != Intrinsic::debugtrap && ID != Intrinsic::ubsantrap)
      return Error::success();
    callEngine(B, "r3cpu_trap", B.getVoidTy(), {hidden(Call, BlockParameter)});
    cutAfter(Call);
    return replace(Call, nullptr);
  }

  // Nothing runs behind a call that does not come back.
  static void cutAfter(CallInst &Call) { changeToUnreachable(Call.getNextNode()); }

  Error lowerLibraryCall(IRBuilder<> &B, CallInst &Call) {
    StringRef Name = Call.getCalledFunction()->getName();
    static const StringSet<> Same = {"malloc", "free", "memcpy", "memset", "memmove"};
    if (Same.contains(Name) || Name.starts_with("r3cpu_"))
      return Error::success();
    if (Name == "vprintf")
      return replace(Call, callEngine(B, "r3cpu_vprintf", B.getInt32Ty(),
                                      {Call.getArgOperand(0), Call.getArgOperand(1)}));
    if (Emitted Result = emitOcklCall(B, Call, Name))
      return replace(Call, *Result);
    if (Name == "__assertfail" || Name == "__assert_fail") {
      callEngine(B, "r3cpu_assert_fail", B.getVoidTy(),
                 {hidden(Call, BlockParameter), Call.getArgOperand(0), Call.getArgOperand(1),
                  Call.getArgOperand(2), Call.getArgOperand(3)});
      cutAfter(Call);
      return replace(Call, nullptr);
    }
    return refuse(Call, "the function '" + demangle(Name) + "', which this unit does not define");
  }

  static Error replace(CallInst &Call, Value *Result) {
    if (Result && !Call.getType()->isVoidTy())
      Call.replaceAllUsesWith(Result);
    Call.eraseFromParent();
    return Error::success();
  }

  void removeUnusedDeclarations() {
    for (Function &F : make_early_inc_range(*Host.M))
      if (F.isDeclaration() && F.use_empty())
        F.eraseFromParent();
  }

  static bool suspends(StringRef Engine) {
    if (!Engine.consume_front("r3cpu_"))
      return false;
    return is_contained({"barrier", "barrier_arrive", "barrier_reduce", "warp_sync", "active_mask", "shuffle",
                         "vote", "match_any", "match_all", "warp_reduce", "wave", "exit", "yield"},
                        Engine);
  }

  DenseSet<Function *> suspendingFunctions() {
    DenseSet<Function *> Suspending;
    bool IndirectSuspends = false;
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (Function &F : *Host.M) {
        if (F.isDeclaration() || Suspending.contains(&F) || !callsSuspending(F, Suspending, IndirectSuspends))
          continue;
        Suspending.insert(&F);
        IndirectSuspends |= F.hasAddressTaken();
        Changed = true;
      }
    }
    return Suspending;
  }

  static bool callsSuspending(Function &F, const DenseSet<Function *> &Suspending, bool IndirectSuspends) {
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallInst>(&I);
      if (!Call || Call->isInlineAsm())
        continue;
      Function *Callee = Call->getCalledFunction();
      if (!Callee ? IndirectSuspends : Suspending.contains(Callee) || suspends(Callee->getName()))
        return true;
    }
    return false;
  }

  HostModule &Host;
};

} // namespace

Expected<DenseSet<Function *>> lowerIntrinsics(HostModule &Host) { return Lowering(Host).run(); }

} // namespace r3::cpu
