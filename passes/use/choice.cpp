// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/choice.h"

#include "common/names.h"
#include "digest/kernel_digest.h"
#include "replay/module.h"

#include "llvm/IR/LLVMContext.h"

#include <cstdlib>

using namespace llvm;

namespace r3 {
namespace {

std::string variable(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? Value : "";
}

/// Empty where the module can't be read.
std::string digestOf(StringRef Kernel, ArrayRef<uint8_t> Bitcode) {
  LLVMContext Context;
  Expected<KernelModule> Loaded = loadKernel(Bitcode, Kernel, Context);
  if (!Loaded) {
    consumeError(Loaded.takeError());
    return {};
  }
  return kernelDigest(*Loaded->M, *Loaded->Kernel);
}

} // namespace

UseSettings UseSettings::fromEnvironment() { return {variable("R3_USE"), variable("R3_USE_DEVICE")}; }

Choice chooseEntry(const Profile &From, const UseSettings &Settings, StringRef Kernel, StringRef Architecture,
                   ArrayRef<uint8_t> Bitcode) {
  SmallVector<const ProfileEntry *, 4> Named, Fitting, Same;
  for (const ProfileEntry &Entry : From.entries)
    if (withoutUnitId(Entry.name) == withoutUnitId(Kernel))
      Named.push_back(&Entry);
  if (Named.empty())
    return {Match::NoEntry};
  for (const ProfileEntry *Entry : Named)
    if (Entry->architecture == Architecture && (Entry->device == "cpu") == Settings.forCpu())
      Fitting.push_back(Entry);
  if (Fitting.empty())
    return {Match::NoDevice};
  std::string Digest = digestOf(Kernel, Bitcode);
  for (const ProfileEntry *Entry : Fitting)
    if (Entry->digest == Digest)
      Same.push_back(Entry);
  if (Same.empty())
    return {Match::HasChanged};
  auto IsExact = [&](const ProfileEntry *Entry) { return Entry->device == Settings.deviceName; };
  auto Exact = find_if(Same, IsExact);
  return {Match::Tuned, Exact == Same.end() ? Same.front() : *Exact};
}

} // namespace r3
