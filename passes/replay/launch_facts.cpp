// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/launch_facts.h"

#include "replay/module.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace r3 {

namespace {

constexpr unsigned SharedSpace = 3;

bool startsWithAny(StringRef Name, std::initializer_list<StringRef> Prefixes) {
  return any_of(Prefixes, [&](StringRef Prefix) { return Name.starts_with(Prefix); });
}

bool isWarpOperation(StringRef Intrinsic) {
  return startsWithAny(Intrinsic, {"llvm.nvvm.shfl.", "llvm.nvvm.vote.", "llvm.nvvm.match.",
                                   "llvm.nvvm.redux.", "llvm.nvvm.bar.warp.sync", "llvm.nvvm.activemask",
                                   "llvm.nvvm.elect.", "llvm.nvvm.fns"});
}

bool isBarrier(StringRef Intrinsic) {
  return !isWarpOperation(Intrinsic) && startsWithAny(Intrinsic, {"llvm.nvvm.barrier", "llvm.nvvm.bar."});
}

void addIntrinsic(LaunchFacts &Facts, StringRef Name) {
  Facts.ReadsBlockSize |= Name.starts_with("llvm.nvvm.read.ptx.sreg.ntid");
  Facts.ReadsGridSize |= Name.starts_with("llvm.nvvm.read.ptx.sreg.nctaid");
  Facts.Barriers += isBarrier(Name);
  Facts.WarpOperations += isWarpOperation(Name);
  Facts.Atomics += Name.starts_with("llvm.nvvm.atomic");
}

void addInstruction(LaunchFacts &Facts, const Instruction &I) {
  Facts.Atomics += isa<AtomicRMWInst>(I) || isa<AtomicCmpXchgInst>(I);
  const auto *Call = dyn_cast<CallBase>(&I);
  if (Call && Call->getCalledFunction() && Call->getCalledFunction()->isIntrinsic())
    addIntrinsic(Facts, Call->getCalledFunction()->getName());
}

void addSharedVariable(LaunchFacts &Facts, const GlobalVariable &Variable) {
  uint64_t Size = Variable.getParent()->getDataLayout().getTypeAllocSize(Variable.getValueType());
  if (Variable.isDeclaration() || Size == 0)
    Facts.DynamicShared = true;
  else
    Facts.StaticShared += Size;
}

/// "256" or "16,16,1" as threads a block.
std::optional<uint64_t> threadsOf(StringRef Bounds) {
  uint64_t Threads = 1, Count;
  for (StringRef Part : split(Bounds, ',')) {
    if (Part.trim().getAsInteger(10, Count))
      return std::nullopt;
    Threads *= Count;
  }
  return Threads;
}

std::optional<uint64_t> maxThreads(const Function &Kernel) {
  for (StringRef Name : {"nvvm.reqntid", "nvvm.maxntid"})
    if (Kernel.hasFnAttribute(Name))
      return threadsOf(Kernel.getFnAttribute(Name).getValueAsString());
  return std::nullopt;
}

} // namespace

LaunchFacts launchFacts(Module &M, Function &Kernel) {
  LaunchFacts Facts;
  Facts.MaxThreads = maxThreads(Kernel);
  for (GlobalValue *Value : reachableFrom(M, {&Kernel})) {
    auto *Variable = dyn_cast<GlobalVariable>(Value);
    if (Variable && Variable->getAddressSpace() == SharedSpace)
      addSharedVariable(Facts, *Variable);
    if (auto *F = dyn_cast<Function>(Value))
      for (const Instruction &I : instructions(*F))
        addInstruction(Facts, I);
  }
  return Facts;
}

} // namespace r3
