// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/element_types.h"

#include "common/analyses.h"

#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {

namespace {

/// Follows pointers from their roots to the accesses, through calls of defined functions too.
class AccessWalk {
public:
  void follow(Value &Pointer) {
    if (Seen.insert(&Pointer).second)
      Pending.push_back(&Pointer);
  }

  /// Pointers loaded through these become roots themselves: the fields of a struct passed by value.
  void followFieldsOf(Argument &ByValue) {
    Fields = &ByValue;
    follow(ByValue);
    run();
    Fields = nullptr;
    Types.clear();
    for (Value *Pointer : std::exchange(LoadedPointers, {}))
      follow(*Pointer);
  }

  void run() {
    while (!Pending.empty()) {
      Value *Pointer = Pending.pop_back_val();
      for (Use &U : Pointer->uses())
        visit(U);
    }
  }

  std::optional<std::string> onlyType() const {
    if (Types.size() != 1)
      return std::nullopt;
    std::string Text;
    raw_string_ostream Stream(Text);
    (*Types.begin())->print(Stream);
    return Text;
  }

  void addType(Type *T) {
    if (auto *Vector = dyn_cast<VectorType>(T))
      return addType(Vector->getElementType());
    if (auto *Array = dyn_cast<ArrayType>(T))
      return addType(Array->getElementType());
    if (auto *Struct = dyn_cast<StructType>(T)) {
      for (Type *Field : Struct->elements())
        addType(Field);
      return;
    }
    Types.insert(T);
  }

  bool foundNothing() const { return Types.empty(); }

  /// Whether all accesses are stores, and nothing else could read through the pointer.
  bool onlyStores() const { return Stores && !MayRead; }

private:
  void visit(Use &U) {
    User *By = U.getUser();
    if (isa<GEPOperator>(By) || isa<AddrSpaceCastOperator>(By) || isa<BitCastOperator>(By) ||
        isa<PHINode>(By) || isa<SelectInst>(By))
      return follow(*By);
    if (auto *Load = dyn_cast<LoadInst>(By))
      return visitLoad(*Load);
    if (auto *Store = dyn_cast<StoreInst>(By))
      return visitStore(*Store, U);
    if (isa<ICmpInst>(By))
      return;
    if (auto *Call = dyn_cast<CallBase>(By))
      return visitCall(*Call, U);
    MayRead = true;
    if (auto *Atomic = dyn_cast<AtomicRMWInst>(By))
      return U.getOperandNo() == AtomicRMWInst::getPointerOperandIndex() ? addType(Atomic->getType())
                                                                         : void();
    if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(By))
      return addType(Exchange->getCompareOperand()->getType());
  }

  void visitStore(StoreInst &Store, Use &U) {
    if (U.getOperandNo() != StoreInst::getPointerOperandIndex()) {
      MayRead = true; // the pointer itself goes to memory
      return;
    }
    Stores = true;
    addType(Store.getValueOperand()->getType());
  }

  void visitLoad(LoadInst &Load) {
    MayRead = true;
    if (Fields && Load.getType()->isPointerTy())
      LoadedPointers.push_back(&Load);
    addType(Load.getType());
  }

  void visitCall(CallBase &Call, Use &U) {
    Function *Callee = Call.getCalledFunction();
    bool Known = Callee && !Callee->isDeclaration() && Call.isArgOperand(&U) &&
                 Call.getArgOperandNo(&U) < Callee->arg_size();
    if (Known)
      follow(*Callee->getArg(Call.getArgOperandNo(&U)));
    else if (!isa<DbgInfoIntrinsic>(Call) && !Call.isLifetimeStartOrEnd())
      MayRead = true;
  }

  Argument *Fields = nullptr;
  bool Stores = false, MayRead = false;
  SmallVector<Value *, 8> LoadedPointers;
  SmallPtrSet<Type *, 4> Types;
  SmallPtrSet<Value *, 32> Seen;
  SmallVector<Value *, 32> Pending;
};

} // namespace

void exposeAccesses(Module &M) {
  Analyses().run(M,
                 "function(sroa,early-cse,simplifycfg),cgscc(inline),function(sroa,early-cse,simplifycfg)");
}

std::optional<std::string> elementTypeOf(Argument &Parameter) {
  AccessWalk Walk;
  if (Parameter.hasByValAttr())
    Walk.followFieldsOf(Parameter);
  else
    Walk.follow(Parameter);
  Walk.run();
  return Walk.onlyType();
}

bool isOnlyWritten(Argument &Parameter) {
  if (!Parameter.getType()->isPointerTy() || Parameter.hasByValAttr())
    return false;
  AccessWalk Walk;
  Walk.follow(Parameter);
  Walk.run();
  return Walk.onlyStores();
}

std::optional<std::string> elementTypeOf(GlobalVariable &Variable) {
  AccessWalk Walk;
  Walk.follow(Variable);
  Walk.run();
  if (Walk.foundNothing())
    Walk.addType(Variable.getValueType());
  return Walk.onlyType();
}

} // namespace r3
