// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cpu/amdgcn.h"

#include "common/describe.h"
#include "cpu/operation_sites.h"
#include "replay/result.h"

#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace r3::cpu {

namespace {

constexpr unsigned OldestCodeObject = 500;

/// Reads or waits for other lanes of the wave.
bool isWaveOperation(const CallInst &Call) {
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || !Callee->isIntrinsic())
    return false;
  StringRef Name = Callee->getName();
  if (Name.starts_with("llvm.read_register."))
    return true;
  if (!Name.consume_front("llvm.amdgcn."))
    return false;
  return any_of(std::initializer_list<StringRef>{"ds.bpermute", "ds.permute", "ds.swizzle", "readlane",
                                                 "readfirstlane", "ballot", "icmp", "fcmp", "mov.dpp",
                                                 "update.dpp", "wave.barrier", "permlane", "s.sleep"},
                [&](StringRef Prefix) { return Name.starts_with(Prefix); });
}

/// The host's threads are all of one scope.
void widenScope(Instruction &I) {
  if (auto *Fence = dyn_cast<FenceInst>(&I))
    Fence->setSyncScopeID(SyncScope::System);
  else if (auto *Update = dyn_cast<AtomicRMWInst>(&I))
    Update->setSyncScopeID(SyncScope::System);
  else if (auto *Exchange = dyn_cast<AtomicCmpXchgInst>(&I))
    Exchange->setSyncScopeID(SyncScope::System);
  else if (auto *Load = dyn_cast<LoadInst>(&I); Load && Load->isAtomic())
    Load->setSyncScopeID(SyncScope::System);
  else if (auto *Store = dyn_cast<StoreInst>(&I); Store && Store->isAtomic())
    Store->setSyncScopeID(SyncScope::System);
}

/// Whether a text is a comment alone, which ROCm's libraries put between values that must not be moved.
bool isComment(const CallInst &Call) {
  const auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand());
  return Asm && StringRef(Asm->getAsmString()).ltrim().starts_with(";") &&
         !StringRef(Asm->getAsmString()).contains('\n');
}

/// A comment gives back the value that goes in.
void removeComments(Function &F) {
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    auto *Call = dyn_cast<CallInst>(&I);
    if (!Call || !isComment(*Call))
      continue;
    bool Passes = Call->arg_size() == 1 && Call->getArgOperand(0)->getType() == Call->getType();
    if (!Passes && !Call->getType()->isVoidTy())
      continue;
    if (Passes)
      Call->replaceAllUsesWith(Call->getArgOperand(0));
    Call->eraseFromParent();
  }
}

/// What the engine does in place of AMD's runtime.
void dropRuntimeBodies(Module &M) {
  for (StringRef Name :
       {"__ockl_printf_begin", "__ockl_fprintf_stderr_begin", "__ockl_fprintf_stdout_begin",
        "__ockl_printf_append_args", "__ockl_printf_append_string_n", "__ockl_dm_alloc", "__ockl_dm_dealloc"})
    if (Function *F = M.getFunction(Name); F && !F->isDeclaration())
      F->deleteBody();
}

Error checkCodeObjectVersion(const Module &M) {
  auto *Version = mdconst::extract_or_null<ConstantInt>(M.getModuleFlag("amdhsa_code_object_version"));
  if (!Version || Version->getZExtValue() >= OldestCodeObject)
    return Error::success();
  return makeError(R3_UNSUPPORTED,
                   "the module was built with -mcode-object-version=" + Twine(Version->getZExtValue() / 100) +
                       ", the cpu device takes 5 and later: build it with -mcode-object-version=5");
}

} // namespace

unsigned waveSize(const Module &Device) {
  for (const Function &F : Device)
    if (F.getFnAttribute("target-features").getValueAsString().contains("+wavefrontsize32"))
      return 32;
  return 64;
}

uint32_t largestGroup(const Function &Kernel) {
  uint32_t Most = 0;
  Kernel.getFnAttribute("amdgpu-flat-work-group-size")
      .getValueAsString()
      .split(',')
      .second.getAsInteger(10, Most);
  return Most;
}

Error prepareAmdgcn(Module &Device) {
  if (Error E = checkCodeObjectVersion(Device))
    return E;
  dropRuntimeBodies(Device);
  inlineOperationSites(Device, isWaveOperation);
  for (Function &F : Device) {
    removeComments(F);
    for (Instruction &I : instructions(F))
      widenScope(I);
  }
  return Error::success();
}

} // namespace r3::cpu
