// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/target.h"

#include "replay/result.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Host.h"

using namespace llvm;

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
void LLVMInitializeAMDGPUTargetInfo();
void LLVMInitializeAMDGPUTarget();
void LLVMInitializeAMDGPUTargetMC();
void LLVMInitializeAMDGPUAsmPrinter();
void LLVMInitializeAMDGPUAsmParser();
}

namespace r3 {

void initializeTargets() {
  static const bool Done = [] {
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser(); // inline assembly
    InitializeNativeTarget();
    InitializeNativeTargetAsmPrinter();
    InitializeNativeTargetAsmParser();
    return true;
  }();
  (void)Done;
}

/// What clang's driver and initTargetOptions give a CUDA device compile.
static TargetOptions nvptxOptions(FPOpFusion::FPOpFusionMode Fusion) {
  TargetOptions Options;
  Options.AllowFPOpFusion = Fusion;
  Options.DisableIntegratedAS = true;
  Options.UseInitArray = true;
  Options.DebuggerTuning = DebuggerKind::GDB;
  // With -g, `.file` directives otherwise carry the directory as an operand of its own.
  Options.MCOptions.MCUseDwarfDirectory = MCTargetOptions::DisableDwarfDirectory;
  Options.MCOptions.AsmVerbose = true;
  return Options;
}

/// The same for HIP: machine code by LLVM's own assembler.
static TargetOptions amdgcnOptions(FPOpFusion::FPOpFusionMode Fusion) {
  TargetOptions Options;
  Options.AllowFPOpFusion = Fusion;
  Options.UseInitArray = true;
  Options.DebuggerTuning = DebuggerKind::GDB;
  Options.MCOptions.AsmVerbose = true;
  return Options;
}

static TargetOptions hostOptions(FPOpFusion::FPOpFusionMode Fusion) {
  TargetOptions Options;
  Options.AllowFPOpFusion = Fusion;
  Options.UseInitArray = true;
  Options.ExceptionModel = ExceptionHandling::None;
  return Options;
}

static Error checkCPU(const Target &T, const TargetSpec &Spec) {
  if (Spec.CPU.empty())
    return Error::success();
  std::unique_ptr<MCSubtargetInfo> Subtarget(T.createMCSubtargetInfo(Spec.Triple, "", ""));
  if (Subtarget->isCPUStringValid(Spec.CPU))
    return Error::success();
  return makeError(R3_BAD_REQUEST,
                   "LLVM " LLVM_VERSION_STRING " knows no cpu \"" + Spec.CPU + "\" for " + Spec.Triple.str());
}

static std::string hostFeatures() {
  std::string Text;
  for (const auto &Feature : sys::getHostCPUFeatures()) {
    Text += Text.empty() ? "" : ",";
    Text += Feature.second ? "+" : "-";
    Text += Feature.first().str();
  }
  return Text;
}

bool isDeviceTriple(const Triple &Target) { return Target.isNVPTX() || Target.isAMDGCN(); }

static TargetOptions optionsFor(const TargetSpec &Spec) {
  if (Spec.Triple.isNVPTX())
    return nvptxOptions(Spec.Fusion);
  return Spec.Triple.isAMDGCN() ? amdgcnOptions(Spec.Fusion) : hostOptions(Spec.Fusion);
}

/// A host module without a CPU, or with "native", is compiled for the CPU that this process runs on.
static TargetSpec resolveNative(TargetSpec Spec) {
  if (isDeviceTriple(Spec.Triple) || (!Spec.CPU.empty() && Spec.CPU != "native"))
    return Spec;
  Spec.CPU = sys::getHostCPUName().str();
  if (Spec.Features.empty())
    Spec.Features = hostFeatures();
  return Spec;
}

Expected<std::unique_ptr<TargetMachine>> createTargetMachine(const TargetSpec &Asked) {
  initializeTargets();
  std::string Reason;
  const Target *T = TargetRegistry::lookupTarget(Asked.Triple, Reason);
  if (!T)
    return makeError(R3_UNSUPPORTED, "no code generator for \"" + Asked.Triple.str() + "\": " + Reason);
  TargetSpec Spec = resolveNative(Asked);
  if (Error E = checkCPU(*T, Spec))
    return E;
  // Code objects of AMD's GPUs and what libr3cpu loads are shared objects.
  Reloc::Model Relocation = Spec.Triple.isNVPTX() ? Reloc::Static : Reloc::PIC_;
  TargetOptions Options = optionsFor(Spec);
  std::unique_ptr<TargetMachine> Machine(T->createTargetMachine(Spec.Triple, Spec.CPU, Spec.Features, Options,
                                                                Relocation, std::nullopt, Spec.Level));
  if (!Machine)
    return makeError(R3_UNSUPPORTED, "no target machine for \"" + Spec.Triple.str() + "\"");
  return Machine;
}

} // namespace r3
