// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "common/describe.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace r3 {
namespace {

constexpr unsigned SharedSpace = 3, ConstantSpace = 4, LocalSpace = 5;

std::string typeName(Type *T) {
  std::string Text;
  raw_string_ostream Stream(Text);
  T->print(Stream, /*IsForDebug=*/false, /*NoDetails=*/true);
  return Text;
}

/// The type whose bytes lie in the argument buffer: a by-value struct's, else the argument's own.
Type *storedType(const Argument &A) {
  if (Type *ByValue = A.getParamByValType())
    return ByValue;
  if (Type *ByReference = A.getParamByRefType())
    return ByReference;
  return A.getType();
}

Align storedAlign(const Argument &A, const DataLayout &Layout) {
  Align Natural = Layout.getABITypeAlign(storedType(A));
  return A.hasPassPointeeByValueCopyAttr() || A.hasByRefAttr()
             ? std::max(Natural, A.getParamAlign().valueOrOne())
             : Natural;
}

std::string debugName(const Function &F, unsigned ArgumentNumber) {
  const DISubprogram *Program = F.getSubprogram();
  if (!Program)
    return {};
  for (const DINode *Node : Program->getRetainedNodes())
    if (const auto *Variable = dyn_cast<DILocalVariable>(Node);
        Variable && Variable->getArg() == ArgumentNumber + 1)
      return Variable->getName().str();
  for (const Instruction &I : instructions(F))
    for (const DbgVariableRecord &Record : filterDbgVars(I.getDbgRecordRange()))
      if (const DILocalVariable *Variable = Record.getVariable();
          Variable->getArg() == ArgumentNumber + 1 && Variable->getScope() == Program)
        return Variable->getName().str();
  return {};
}

std::string parameterName(const Argument &A) {
  std::string Name = debugName(*A.getParent(), A.getArgNo());
  return Name.empty() ? A.getName().str() : Name;
}

/// An intrinsic, or inline assembly, which is what clang's own headers write.
bool isTextureOperation(const CallBase &Call) {
  constexpr StringLiteral Operations[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq."};
  if (const auto *Assembly = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return any_of(Operations,
                  [&](StringRef Operation) { return Assembly->getAsmString().contains(Operation); });
  const Function *Callee = Call.getCalledFunction();
  StringRef Name = Callee ? Callee->getName() : StringRef();
  return Name.consume_front("llvm.nvvm.") &&
         any_of(Operations, [&](StringRef Operation) { return Name.starts_with(Operation); });
}

/// Walks everything that a function's body can name, through constants and through initialisers of globals.
class Closure {
public:
  explicit Closure(const Function &Root) : M(*Root.getParent()) {
    add(&Root);
    while (!Pending.empty())
      visit(Pending.pop_back_val());
  }

  bool contains(const GlobalVariable &G) const { return Seen.contains(&G); }
  bool usesTextures() const { return Textures; }

private:
  void add(const Value *V) {
    if (isa<Constant>(V) && Seen.insert(V).second)
      Pending.push_back(V);
  }

  void visit(const Value *V) {
    if (const auto *F = dyn_cast<Function>(V))
      return visitBody(*F);
    for (const Use &Operand : cast<User>(V)->operands())
      add(Operand.get());
  }

  void visitBody(const Function &F) {
    for (const Instruction &I : instructions(F)) {
      for (const Use &Operand : I.operands())
        add(Operand.get());
      const auto *Call = dyn_cast<CallBase>(&I);
      Textures |= Call && isTextureOperation(*Call);
      if (Call && Call->isIndirectCall())
        addIndirectTargets();
    }
  }

  /// A pointer read from memory may be any function whose address some code takes.
  void addIndirectTargets() {
    if (std::exchange(CallsIndirectly, true))
      return;
    for (const Function &F : M)
      if (F.hasAddressTaken())
        add(&F);
  }

  const Module &M;
  bool CallsIndirectly = false, Textures = false;
  SmallPtrSet<const Value *, 32> Seen;
  SmallVector<const Value *, 32> Pending;
};

/// Whether a use of a pointer to a global can lead to a store: anything but loads and address arithmetic
/// might.
class WriteSearch {
public:
  bool mayWrite(const Value &Pointer) {
    if (!Seen.insert(&Pointer).second)
      return false;
    return any_of(Pointer.uses(), [&](const Use &U) { return useMayWrite(U); });
  }

private:
  bool useMayWrite(const Use &U) {
    const User *User = U.getUser();
    if (isa<LoadInst>(User) || isa<ICmpInst>(User))
      return false;
    if (isa<GEPOperator>(User) || isa<AddrSpaceCastOperator>(User) || isa<BitCastOperator>(User) ||
        isa<PHINode>(User) || isa<SelectInst>(User))
      return mayWrite(*User);
    if (const auto *Global = dyn_cast<GlobalVariable>(User))
      return !Global->getName().starts_with("llvm.");
    if (const auto *Aggregate = dyn_cast<ConstantAggregate>(User))
      return mayWrite(*Aggregate);
    if (const auto *Call = dyn_cast<CallBase>(User))
      return callMayWrite(*Call, U);
    return true;
  }

  static bool callMayWrite(const CallBase &Call, const Use &U) {
    if (const auto *Copy = dyn_cast<MemTransferInst>(&Call))
      return &Copy->getRawDestUse() == &U;
    return !(Call.isDataOperand(&U) && Call.onlyReadsMemory(Call.getDataOperandNo(&U)) &&
             Call.doesNotCapture(Call.getDataOperandNo(&U)));
  }

  SmallPtrSet<const Value *, 16> Seen;
};

KernelInfo describeKernel(const Function &F) {
  KernelInfo Info;
  Info.name = F.getName().str();
  Info.line = F.getSubprogram() ? F.getSubprogram()->getLine() : 0;
  Info.parameters = parameterLayout(F);
  Closure Reached(F);
  for (const GlobalVariable &G : F.getParent()->globals())
    if (isDeviceVariable(G) && Reached.contains(G))
      Info.globals.push_back(G.getName().str());
  Info.textures = Reached.usesTextures();
  return Info;
}

GlobalInfo describeGlobal(const GlobalVariable &G) {
  uint64_t Size = G.getParent()->getDataLayout().getTypeAllocSize(G.getValueType()).getFixedValue();
  return {G.getName().str(), Size, G.getAddressSpace() == ConstantSpace ? "constant" : "global",
          G.hasLocalLinkage(), isMutableGlobal(G)};
}

} // namespace

bool isKernel(const Function &F) {
  CallingConv::ID Convention = F.getCallingConv();
  return !F.isDeclaration() &&
         (Convention == CallingConv::PTX_Kernel || Convention == CallingConv::AMDGPU_KERNEL ||
          Convention == CallingConv::SPIR_KERNEL);
}

bool isDeviceVariable(const GlobalVariable &G) {
  unsigned Space = G.getAddressSpace();
  bool IsBuiltinIndex =
      G.isDeclaration() && G.hasExternalWeakLinkage(); // threadIdx and its kin: never in memory
  return Space != SharedSpace && Space != LocalSpace && !IsBuiltinIndex && !G.getName().starts_with("llvm.");
}

std::vector<ParameterInfo> parameterLayout(const Function &Kernel) {
  const DataLayout &Layout = Kernel.getParent()->getDataLayout();
  std::vector<ParameterInfo> Parameters;
  uint64_t End = 0;
  for (const Argument &A : Kernel.args()) {
    Type *Stored = storedType(A);
    uint64_t Offset = alignTo(End, storedAlign(A, Layout));
    uint64_t Size = A.getType() == Stored ? Layout.getTypeStoreSize(Stored) : Layout.getTypeAllocSize(Stored);
    Parameters.push_back({Offset, Size, typeName(Stored), parameterName(A)});
    End = Offset + Size;
  }
  return Parameters;
}

std::vector<const GlobalVariable *> reachableGlobals(const Function &Kernel) {
  Closure Reached(Kernel);
  std::vector<const GlobalVariable *> Globals;
  for (const GlobalVariable &G : Kernel.getParent()->globals())
    if (isDeviceVariable(G) && Reached.contains(G))
      Globals.push_back(&G);
  return Globals;
}

bool isMutableGlobal(const GlobalVariable &G) {
  if (G.isExternallyInitialized())
    return true; // the host writes it by name, __constant__ included
  if (G.isConstant())
    return false;
  return !G.hasLocalLinkage() || WriteSearch().mayWrite(G);
}

ModuleDescription describeModule(const Module &M) {
  ModuleDescription Description;
  for (const Function &F : M)
    if (isKernel(F))
      Description.kernels.push_back(describeKernel(F));
  for (const GlobalVariable &G : M.globals())
    if (isDeviceVariable(G))
      Description.globals.push_back(describeGlobal(G));
  return Description;
}

json::Array toJSON(const std::vector<KernelInfo> &Kernels) {
  json::Array Array;
  for (const KernelInfo &K : Kernels) {
    json::Array Parameters;
    for (const ParameterInfo &P : K.parameters)
      Parameters.push_back(
          json::Object{{"offset", P.offset}, {"size", P.size}, {"type", P.type}, {"name", P.name}});
    json::Object Kernel{{"name", K.name},
                        {"line", K.line},
                        {"parameters", std::move(Parameters)},
                        {"globals", json::Array(K.globals)}};
    if (K.textures)
      Kernel["textures"] = true;
    Array.push_back(std::move(Kernel));
  }
  return Array;
}

json::Array toJSON(const std::vector<GlobalInfo> &Globals) {
  json::Array Array;
  for (const GlobalInfo &G : Globals)
    Array.push_back(json::Object{{"name", G.name},
                                 {"size", G.size},
                                 {"space", G.space},
                                 {"internal", G.internal},
                                 {"mutable", G.isMutable}});
  return Array;
}

} // namespace r3
