// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/globals_order.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace llvm;

namespace r3 {

namespace {

class DependencyOrder {
public:
  /// Appends Variable behind all that it refers to; a cycle is cut where it is met.
  void add(GlobalVariable &Variable) {
    if (!Visited.insert(&Variable).second)
      return;
    if (Variable.hasInitializer())
      addReferences(*Variable.getInitializer());
    Ordered.push_back(&Variable);
  }

  ArrayRef<GlobalVariable *> result() const { return Ordered; }

private:
  void addReferences(Constant &C) {
    if (auto *Variable = dyn_cast<GlobalVariable>(&C))
      return add(*Variable);
    if (isa<GlobalValue>(C) || !Visited.insert(&C).second)
      return;
    for (Value *Operand : C.operands())
      addReferences(*cast<Constant>(Operand));
  }

  SmallPtrSet<Constant *, 32> Visited;
  SmallVector<GlobalVariable *, 32> Ordered;
};

} // namespace

static void dropUsedList(Module &M, StringRef Name) {
  if (GlobalVariable *List = M.getGlobalVariable(Name))
    List->eraseFromParent();
}

void fixGlobalsOrder(Module &M) {
  dropUsedList(M, "llvm.used");
  dropUsedList(M, "llvm.compiler.used");
  DependencyOrder Order;
  for (GlobalVariable &Variable : M.globals())
    Order.add(Variable);
  for (GlobalVariable *Variable : Order.result()) {
    M.removeGlobalVariable(Variable);
    M.insertGlobalVariable(Variable);
  }
}

} // namespace r3
