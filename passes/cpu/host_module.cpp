// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/host_module.h"

#include "common/describe.h"
#include "cpu/amdgcn.h"

#include "replay/result.h"

#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/ValueMapper.h"

using namespace llvm;

namespace r3::cpu {

namespace {

/// Maps types and constants to address space 0.
class AddressSpaceFolder : public ValueMapTypeRemapper, public ValueMaterializer {
public:
  explicit AddressSpaceFolder(ValueToValueMapTy &Map) : Map(Map) {}

  Type *remapType(Type *T) override {
    Type *&Folded = Types[T];
    if (!Folded)
      Folded = fold(T);
    return Folded;
  }

  /// An address space cast between equal types is no cast any more.
  Value *materialize(Value *V) override {
    auto *E = dyn_cast<ConstantExpr>(V);
    if (!E || E->getOpcode() != Instruction::AddrSpaceCast)
      return nullptr;
    return MapValue(E->getOperand(0), Map, RF_None, this, this);
  }

private:
  Type *fold(Type *T) {
    LLVMContext &C = T->getContext();
    if (T->isPointerTy())
      return PointerType::get(C, 0);
    if (auto *A = dyn_cast<ArrayType>(T))
      return ArrayType::get(remapType(A->getElementType()), A->getNumElements());
    if (auto *V = dyn_cast<VectorType>(T))
      return VectorType::get(remapType(V->getElementType()), V->getElementCount());
    if (auto *F = dyn_cast<FunctionType>(T))
      return FunctionType::get(remapType(F->getReturnType()), foldAll(F->params()), F->isVarArg());
    if (auto *S = dyn_cast<StructType>(T))
      return foldStruct(*S);
    return T;
  }

  SmallVector<Type *> foldAll(ArrayRef<Type *> From) {
    SmallVector<Type *> To;
    for (Type *T : From)
      To.push_back(remapType(T));
    return To;
  }

  Type *foldStruct(StructType &S) {
    SmallVector<Type *> Elements = foldAll(S.elements());
    if (ArrayRef<Type *>(Elements) == S.elements())
      return &S;
    if (S.isLiteral())
      return StructType::get(S.getContext(), Elements, S.isPacked());
    return StructType::create(Elements, S.getName(), S.isPacked());
  }

  ValueToValueMapTy &Map;
  DenseMap<Type *, Type *> Types;
};

class Builder {
public:
  Builder(Module &Device, const HostTarget &Target) : Device(Device), Target(Target), Folder(Map) {
    Host.M = std::make_unique<Module>(Device.getModuleIdentifier(), Device.getContext());
    Host.M->setTargetTriple(Triple(Target.Triple));
    Host.M->setDataLayout(Target.DataLayout);
    Host.M->setSourceFileName(Device.getSourceFileName());
    if (Device.getTargetTriple().isAMDGCN()) {
      Host.Wave = waveSize(Device);
      Host.M->addModuleFlag(Module::Warning, WaveFlag, Host.Wave);
    }
  }

  Expected<HostModule> build() {
    for (GlobalVariable &G : Device.globals())
      if (Error E = declareVariable(G))
        return std::move(E);
    for (Function &F : Device)
      declareFunction(F);
    for (GlobalAlias &A : Device.aliases())
      if (Error E = resolveAlias(A))
        return std::move(E);
    for (GlobalVariable &G : Device.globals())
      defineVariable(G);
    for (Function &F : Device)
      if (!F.isDeclaration())
        defineFunction(F);
    addModuleFlags();
    for (Function &F : *Host.M)
      finishFunction(F);
    return std::move(Host);
  }

private:
  static bool isSharedVariable(const GlobalVariable &G) {
    return G.getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED;
  }

  Error declareVariable(GlobalVariable &G) {
    if (G.getName().starts_with("llvm."))
      return Error::success();
    bool Shared = isSharedVariable(G);
    if (G.isDeclaration() && !Shared && !G.hasExternalWeakLinkage())
      return makeError(R3_UNSUPPORTED, "variable '" + G.getName() +
                                           "' is defined in a unit whose IR the program does not carry");
    // Host code may write a __constant__ or const __device__ variable, whatever the device module says.
    // In HIP's modules what host code may write is marked.
    bool Settled = Device.getTargetTriple().isAMDGCN() && !G.isExternallyInitialized();
    bool ReadOnly = G.isConstant() && (G.getAddressSpace() == 0 || Settled);
    auto *New = new GlobalVariable(*Host.M, Folder.remapType(G.getValueType()), ReadOnly, G.getLinkage(),
                                   nullptr, G.getName());
    New->setAlignment(G.getAlign());
    Map[&G] = New;
    if (Shared)
      Host.Shared.push_back(sharedVariable(G, *New));
    else if (isDeviceVariable(G))
      Host.Variables.push_back({G.getName().str(), New, G.getAddressSpace() == NVPTXAS::ADDRESS_SPACE_CONST});
    return Error::success();
  }

  static bool isDeviceVariable(const GlobalVariable &G) {
    unsigned Space = G.getAddressSpace();
    return !G.isDeclaration() && !G.hasPrivateLinkage() &&
           (Space == NVPTXAS::ADDRESS_SPACE_GLOBAL || Space == NVPTXAS::ADDRESS_SPACE_CONST);
  }

  SharedVariable sharedVariable(const GlobalVariable &G, GlobalVariable &Placeholder) {
    const DataLayout &Layout = Device.getDataLayout();
    uint64_t Size = Layout.getTypeAllocSize(G.getValueType());
    uint64_t Alignment =
        std::max(G.getAlign().valueOrOne(), Layout.getABITypeAlign(G.getValueType())).value();
    return {&Placeholder, Size, Alignment, G.isDeclaration() || Size == 0};
  }

  // Everything but the module's table stays inside: the shadow variables of the host program have the same
  // names.
  void defineVariable(GlobalVariable &G) {
    auto *New = dyn_cast_or_null<GlobalVariable>(Map.lookup(&G));
    if (!New || G.isDeclaration())
      return;
    New->setInitializer(cast<Constant>(MapValue(G.getInitializer(), Map, RF_None, &Folder, &Folder)));
    if (!New->hasPrivateLinkage())
      New->setLinkage(GlobalValue::InternalLinkage);
    New->setUnnamedAddr(G.getUnnamedAddr());
  }

  void declareFunction(Function &F) {
    auto *Type = cast<FunctionType>(Folder.remapType(F.getFunctionType()));
    if (!F.isDeclaration())
      Type = withHiddenParameters(*Type);
    Function *New = Function::Create(Type, GlobalValue::ExternalLinkage, F.getName(), *Host.M);
    if (auto Remangled = Intrinsic::remangleIntrinsicFunction(New)) {
      New->eraseFromParent();
      New = *Remangled;
    }
    Map[&F] = New;
    for (Argument &A : F.args())
      if (!F.isDeclaration())
        Map[&A] = New->getArg(HiddenParameterCount + A.getArgNo());
  }

  static FunctionType *withHiddenParameters(FunctionType &T) {
    LLVMContext &C = T.getContext();
    Type *Index = Type::getInt32Ty(C);
    SmallVector<Type *> Parameters{PointerType::get(C, 0), Index, Index, Index};
    Parameters.append(T.param_begin(), T.param_end());
    return FunctionType::get(T.getReturnType(), Parameters, T.isVarArg());
  }

  Error resolveAlias(GlobalAlias &A) {
    auto *Aliasee = dyn_cast<GlobalValue>(A.getAliasee()->stripPointerCastsAndAliases());
    if (!Aliasee)
      return makeError(R3_UNSUPPORTED,
                       "alias '" + A.getName() + "' to an expression has no form on the host");
    Map[&A] = Map.lookup(Aliasee);
    return Error::success();
  }

  void defineFunction(Function &F) {
    auto *New = cast<Function>(static_cast<Value *>(Map.lookup(&F)));
    SmallVector<ReturnInst *> Returns;
    CloneFunctionInto(New, &F, Map, CloneFunctionChangeType::DifferentModule, Returns, "", nullptr, &Folder,
                      &Folder);
    nameHiddenParameters(*New);
    if (isKernel(F)) {
      Host.Kernels.push_back({F.getName().str(), New, maxThreads(F)});
      // The entry calls it in a loop, and is what stays.
      if (!New->hasOptNone())
        New->removeFnAttr(Attribute::NoInline);
    }
    New->setCallingConv(CallingConv::C);
    New->setVisibility(GlobalValue::DefaultVisibility);
    New->setLinkage(GlobalValue::InternalLinkage);
    New->setComdat(nullptr);
    New->setDSOLocal(true);
  }

  static void nameHiddenParameters(Function &F) {
    static const char *const Names[] = {"r3.block", "r3.x", "r3.y", "r3.z"};
    for (unsigned I = 0; I < HiddenParameterCount; ++I)
      F.getArg(I)->setName(Names[I]);
    // The block's description does not change while the block runs.
    F.addParamAttr(BlockParameter, Attribute::NonNull);
  }

  static uint32_t maxThreads(const Function &F) {
    uint32_t Product = 1;
    SmallVector<StringRef> Extents;
    if (F.hasFnAttribute("amdgpu-flat-work-group-size"))
      return largestGroup(F);
    StringRef Text = F.getFnAttribute("nvvm.maxntid").getValueAsString();
    if (Text.empty())
      return 0;
    Text.split(Extents, ',');
    for (StringRef Extent : Extents) {
      uint32_t Value = 1;
      if (!Extent.trim().getAsInteger(10, Value))
        Product *= Value;
    }
    return Product;
  }

  void addModuleFlags() {
    Host.M->addModuleFlag(Module::Warning, "Debug Info Version", DEBUG_METADATA_VERSION);
    if (Metadata *Version = Device.getModuleFlag("Dwarf Version"))
      Host.M->addModuleFlag(Module::Warning, "Dwarf Version", Version);
  }

  void finishFunction(Function &F) {
    setHostAttributes(F);
    if (F.isDeclaration())
      return;
    removeCasts(F);
    SmallVector<CallBase *> Calls;
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        Calls.push_back(Call);
    for (CallBase *Call : Calls)
      finishCall(F, *Call);
  }

  static bool isDeviceAttribute(StringRef Name) {
    return Name.starts_with("nvvm") || Name.starts_with("target-") || Name.starts_with("amdgpu") ||
           Name.starts_with("denormal-fp-math") || Name == "uniform-work-group-size";
  }

  void setHostAttributes(Function &F) {
    if (F.isIntrinsic())
      return;
    AttributeMask Gone;
    // A function that reads its thread's place reads memory now; fibers need no convergence.
    for (Attribute::AttrKind Kind : {Attribute::Convergent, Attribute::Memory, Attribute::Speculatable})
      Gone.addAttribute(Kind);
    for (Attribute A : F.getAttributes().getFnAttrs())
      if (A.isStringAttribute() && isDeviceAttribute(A.getKindAsString()))
        Gone.addAttribute(A.getKindAsString());
    F.removeFnAttrs(Gone);
    if (F.isDeclaration())
      return;
    F.addFnAttr("target-cpu", Target.Cpu);
    F.addFnAttr("target-features", Target.Features);
  }

  static void removeCasts(Function &F) {
    SmallVector<AddrSpaceCastInst *> Casts;
    for (Instruction &I : instructions(F))
      if (auto *Cast = dyn_cast<AddrSpaceCastInst>(&I))
        Casts.push_back(Cast);
    for (AddrSpaceCastInst *Cast : Casts) {
      Cast->replaceAllUsesWith(Cast->getPointerOperand());
      Cast->eraseFromParent();
    }
  }

  void finishCall(Function &Caller, CallBase &Call) {
    Call.removeFnAttr(Attribute::Convergent);
    auto *Plain = dyn_cast<CallInst>(&Call);
    if (!Plain || Call.isInlineAsm())
      return;
    auto *Callee = dyn_cast<Function>(Call.getCalledOperand()->stripPointerCasts());
    if (Callee && Callee->isDeclaration())
      return;
    Plain->removeFnAttr(Attribute::Memory);
    passHiddenParameters(Caller, *Plain);
  }

  static void passHiddenParameters(Function &Caller, CallInst &Call) {
    SmallVector<Value *> Arguments;
    SmallVector<AttributeSet> Attributes(HiddenParameterCount);
    for (unsigned I = 0; I < HiddenParameterCount; ++I)
      Arguments.push_back(Caller.getArg(I));
    AttributeList Old = Call.getAttributes();
    for (unsigned I = 0; I < Call.arg_size(); ++I) {
      Arguments.push_back(Call.getArgOperand(I));
      Attributes.push_back(Old.getParamAttrs(I));
    }
    CallInst *New = CallInst::Create(withHiddenParameters(*Call.getFunctionType()), Call.getCalledOperand(),
                                     Arguments, "", Call.getIterator());
    New->setAttributes(
        AttributeList::get(Call.getContext(), Old.getFnAttrs(), Old.getRetAttrs(), Attributes));
    New->setTailCallKind(Call.getTailCallKind());
    New->copyMetadata(Call);
    if (isa<FPMathOperator>(New))
      New->copyFastMathFlags(&Call);
    New->takeName(&Call);
    Call.replaceAllUsesWith(New);
    Call.eraseFromParent();
  }

  Module &Device;
  const HostTarget &Target;
  ValueToValueMapTy Map;
  AddressSpaceFolder Folder;
  HostModule Host;
};

} // namespace

Expected<HostModule> buildHostModule(Module &Device, const HostTarget &Target) {
  return Builder(Device, Target).build();
}

} // namespace r3::cpu
