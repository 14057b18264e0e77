// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// r3_lower_to_host: an NVPTX or AMDGCN module becomes a host module for libr3cpu (docs/cpu-device.md).
#include "cpu/amdgcn.h"
#include "cpu/entries.h"
#include "cpu/host_module.h"
#include "cpu/intrinsics.h"
#include "cpu/operation_sites.h"
#include "cpu/ptx_text.h"
#include "cpu/shared_memory.h"
#include "cpu/trim.h"
#include "replay/result.h"

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DiagnosticHandler.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"

using namespace llvm;

namespace r3::cpu {

static Expected<std::string> requestedCpu(StringRef Request) {
  Expected<json::Value> Parsed = json::parse(Request);
  if (!Parsed)
    return makeError(R3_BAD_REQUEST, "the request is not JSON: " + toString(Parsed.takeError()));
  json::Object *Object = Parsed->getAsObject();
  if (!Object)
    return makeError(R3_BAD_REQUEST, "the request is not a JSON object");
  for (auto &Field : *Object)
    if (Field.first != "cpu")
      return makeError(R3_BAD_REQUEST,
                       "unknown key '" + StringRef(Field.first) + "' in the request; known: cpu");
  return Object->getString("cpu").value_or("native").str();
}

static Expected<HostTarget> hostTarget(StringRef Cpu) {
  InitializeNativeTarget();
  HostTarget Host;
  Host.Triple = sys::getDefaultTargetTriple();
  Host.Cpu = Cpu.str();
  if (Cpu == "native") {
    Host.Cpu = sys::getHostCPUName().str();
    SubtargetFeatures Features;
    for (auto &Feature : sys::getHostCPUFeatures())
      Features.AddFeature(Feature.first(), Feature.second);
    Host.Features = Features.getString();
  }
  std::string Problem;
  const Target *T = TargetRegistry::lookupTarget(Triple(Host.Triple), Problem);
  if (!T)
    return makeError(R3_CODEGEN_ERROR, Problem);
  std::unique_ptr<TargetMachine> Machine(
      T->createTargetMachine(Triple(Host.Triple), Host.Cpu, Host.Features, TargetOptions(), Reloc::PIC_));
  Host.DataLayout = Machine->createDataLayout().getStringRepresentation();
  return Host;
}

static Expected<std::unique_ptr<Module>> readDeviceModule(LLVMContext &Context, ArrayRef<uint8_t> Bitcode) {
  StringRef Bytes(reinterpret_cast<const char *>(Bitcode.data()), Bitcode.size());
  auto Parsed = parseBitcodeFile(MemoryBufferRef(Bytes, "module"), Context);
  if (!Parsed)
    return makeError(R3_BAD_BITCODE, "not a bitcode module that LLVM " LLVM_VERSION_STRING " can read: " +
                                         toString(Parsed.takeError()));
  Triple Target = (*Parsed)->getTargetTriple();
  if (!Target.isNVPTX() && !Target.isAMDGCN())
    return makeError(R3_UNSUPPORTED, "the cpu device takes NVPTX and AMDGCN modules, not '" +
                                         (*Parsed)->getTargetTriple().str() + "'");
  return Parsed;
}

static json::Object describe(ArrayRef<Entry> Entries) {
  json::Array Kernels;
  for (const Entry &E : Entries)
    Kernels.push_back(json::Object{
        {"name", E.Name}, {"form", E.Fiber ? "fiber" : "loop"}, {"static_shared", int64_t(E.StaticShared)}});
  return json::Object{{"kernels", std::move(Kernels)}};
}

static Expected<Product> lower(ArrayRef<uint8_t> Bitcode, StringRef Request) {
  Expected<std::string> Cpu = requestedCpu(Request);
  if (!Cpu)
    return Cpu.takeError();
  Expected<HostTarget> Target = hostTarget(*Cpu);
  if (!Target)
    return Target.takeError();
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> Device = readDeviceModule(Context, Bitcode);
  if (!Device)
    return Device.takeError();

  if ((*Device)->getTargetTriple().isAMDGCN())
    if (Error E = prepareAmdgcn(**Device))
      return std::move(E);
  trimDeviceModule(**Device);
  rewritePtxText(**Device);
  inlineOperationSites(**Device, asksForActiveLanes);
  Expected<HostModule> Host = buildHostModule(**Device, *Target);
  if (!Host)
    return Host.takeError();
  auto Suspending = lowerIntrinsics(*Host);
  if (!Suspending)
    return Suspending.takeError();
  SharedSizes Shared = placeSharedMemory(*Host);
  std::vector<Entry> Entries;
  for (const Kernel &K : Host->Kernels)
    Entries.push_back(makeEntry(*Host, K, Suspending->contains(K.Body), Shared.lookup(K.Body)));
  addModuleTable(*Host, Entries);

  std::string Problem;
  raw_string_ostream Text(Problem);
  if (verifyModule(*Host->M, &Text))
    return makeError(R3_CODEGEN_ERROR, "the lowered module is not valid LLVM IR: " + Problem);
  Product Result;
  raw_svector_ostream Stream(Result.Output);
  WriteBitcodeToFile(*Host->M, Stream);
  Result.Report = describe(Entries);
  return Result;
}

} // namespace r3::cpu

extern "C" __attribute__((visibility("default"))) r3_result *
r3_lower_to_host(const uint8_t *bitcode, size_t size, const char *request) {
  return r3::toResult(r3::cpu::lower({bitcode, size}, request ? request : "{}"));
}
