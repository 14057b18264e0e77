// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "replay/compile.h"

#include "common/describe.h"
#include "replay/diagnostics.h"
#include "replay/globals_order.h"
#include "replay/ir_hash.h"
#include "replay/llvm_options.h"
#include "replay/module.h"
#include "replay/pipeline.h"
#include "replay/target.h"

#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace llvm;

namespace r3 {

namespace {

class Stopwatch {
public:
  int64_t nanoseconds() const {
    auto Elapsed = std::chrono::steady_clock::now() - Start;
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Elapsed).count();
  }

private:
  std::chrono::steady_clock::time_point Start = std::chrono::steady_clock::now();
};

/// The attribute's value on the first defined function that has it: what clang compiled the module for.
std::string recordedAttribute(const Module &M, StringRef Name) {
  for (const Function &F : M)
    if (!F.isDeclaration() && F.hasFnAttribute(Name))
      return F.getFnAttribute(Name).getValueAsString().str();
  return "";
}

FPOpFusion::FPOpFusionMode fusionMode(FPContract Contract) {
  switch (Contract) {
  case FPContract::Fast:
    return FPOpFusion::Fast;
  case FPContract::Never:
    return FPOpFusion::Strict;
  case FPContract::Off: // clang leaves to the front end what was fused there
  case FPContract::On:
    return FPOpFusion::Standard;
  }
  llvm_unreachable("all modes handled");
}

TargetSpec targetFor(const Module &M, const CompileRequest &Request) {
  TargetSpec Spec;
  Spec.Triple = M.getTargetTriple();
  Spec.CPU = Request.CPU.value_or(recordedAttribute(M, "target-cpu"));
  Spec.Features = Request.Features.value_or(recordedAttribute(M, "target-features"));
  Spec.Level = static_cast<CodeGenOptLevel>(Request.CodegenLevel);
  Spec.Fusion = fusionMode(Request.Contract);
  return Spec;
}

PipelineTuningOptions tuningFor(const CompileRequest &Request, const Triple &Target) {
  PipelineTuningOptions Tuning;
  Tuning.LoopUnrolling = Request.UnrollLoops;
  // clang lets interleaving follow unrolling.
  Tuning.LoopInterleaving = Request.UnrollLoops;
  Tuning.LoopVectorization = Request.VectorizeLoops;
  Tuning.SLPVectorization = Request.VectorizeSLP;
  // clang's default goes with the integrated assembler, which device code does not use.
  Tuning.CallGraphProfile = !Target.isNVPTX();
  return Tuning;
}

void setKernelAttribute(Module &M, StringRef Name, const std::optional<std::string> &Value) {
  if (!Value)
    return;
  for (Function &F : M) {
    if (!isKernel(F))
      continue;
    if (Value->empty())
      F.removeFnAttr(Name);
    else
      F.addFnAttr(Name, *Value);
  }
}

void setKernelAttributes(Module &M, const KernelAttributes &Attributes) {
  setKernelAttribute(M, "nvvm.maxntid", Attributes.MaxNTid);
  setKernelAttribute(M, "nvvm.minctasm", Attributes.MinCTASm);
  setKernelAttribute(M, "nvvm.maxnreg", Attributes.MaxNReg);
  setKernelAttribute(M, "amdgpu-flat-work-group-size", Attributes.FlatWorkGroupSize);
  setKernelAttribute(M, "amdgpu-waves-per-eu", Attributes.WavesPerEU);
  setKernelAttribute(M, "amdgpu-num-vgpr", Attributes.NumVGPR);
}

/// On the host a function's own target attributes win over the machine's, and the request names the machine.
void retarget(Module &M, const TargetMachine &Machine) {
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    F.removeFnAttr("tune-cpu");
    F.addFnAttr("target-cpu", Machine.getTargetCPU());
    F.addFnAttr("target-features", Machine.getTargetFeatureString());
  }
}

/// Takes the permission to fuse out of every operation.
void forbidContraction(Module &M) {
  for (Function &F : M)
    for (Instruction &I : instructions(F))
      if (isa<FPMathOperator>(I))
        I.setHasAllowContract(false);
}

Error firstError(const Diagnostics &Sink, r3_status Status) {
  if (Sink.FirstError.empty())
    return Error::success();
  return makeError(Status, Sink.FirstError);
}

Error emitCode(Module &M, TargetMachine &Machine, CodeGenFileType Type, SmallVectorImpl<char> &Output) {
  raw_svector_ostream Stream(Output);
  const TargetOptions &Options = Machine.Options;
  legacy::PassManager Passes;
  Passes.add(createTargetTransformInfoWrapperPass(Machine.getTargetIRAnalysis()));
  Passes.add(new TargetLibraryInfoWrapperPass(Machine.getTargetTriple()));
  Passes.add(new RuntimeLibraryInfoWrapper(Machine.getTargetTriple(), Options.ExceptionModel,
                                           Options.FloatABIType, Options.EABIVersion,
                                           Options.MCOptions.ABIName, Options.VecLib));
  if (Machine.addPassesToEmitFile(Passes, Stream, nullptr, Type, /*DisableVerify=*/true))
    return makeError(R3_UNSUPPORTED, "LLVM makes no such output for " + Machine.getTargetTriple().str() +
                                         ": ask for assembly");
  Passes.run(M);
  return Error::success();
}

/// One compile: the module, its machine, and the report as it fills.
class Compilation {
public:
  Compilation(const CompileRequest &Request) : Request(Request) {
    Sink.WantRemarks = Request.Remarks;
    Context.setDiagnosticHandler(std::make_unique<DiagnosticCollector>(Sink));
    // Names cost time and change nothing; clang's release builds discard them as well.
    Context.setDiscardValueNames(true);
  }

  Expected<Product> run(ArrayRef<uint8_t> Bitcode) {
    if (Error E = prepare(Bitcode))
      return E;
    if (Error E = optimise())
      return E;
    if (Error E = generate())
      return E;
    Result.Report["remarks"] = json::Array(Sink.Remarks);
    Result.Report["occupancy"] = json::Object(Sink.Occupancy);
    return std::move(Result);
  }

private:
  Error prepare(ArrayRef<uint8_t> Bitcode) {
    if (Error E = applyLLVMOptions(Request.LLVMOptions))
      return E;
    if (Error E = loadModule(Bitcode, Context).moveInto(M))
      return E;
    if (Error E = createTargetMachine(targetFor(*M, Request)).moveInto(Machine))
      return E;
    Sink.WantOccupancy = Machine->getTargetTriple().isAMDGCN();
    if (M->getDataLayout() != Machine->createDataLayout())
      return makeError(R3_BAD_REQUEST, "the module was made for another data layout (" +
                                           M->getDataLayoutStr() + ") than the options give (" +
                                           Machine->createDataLayout().getStringRepresentation() + ")");
    if (Request.CPU && !isDeviceTriple(Machine->getTargetTriple()))
      retarget(*M, *Machine);
    setKernelAttributes(*M, Request.Attributes);
    if (Request.Contract == FPContract::Never)
      forbidContraction(*M);
    return Error::success();
  }

  Error optimise() {
    PipelineBuilder Builder(Context, *Machine, tuningFor(Request, Machine->getTargetTriple()));
    Expected<ModulePassManager> Passes = Builder.parse(Request.Pipeline);
    if (!Passes)
      return Passes.takeError();
    Stopwatch Watch;
    Builder.run(*Passes, *M);
    Result.Report["optimise_ns"] = Watch.nanoseconds();
    if (verifyModule(*M))
      return makeError(R3_CODEGEN_ERROR, "the pipeline made a module that is not valid");
    Result.Report["ir_hash"] = irHash(*M);
    return firstError(Sink, R3_CODEGEN_ERROR);
  }

  Error generate() {
    Stopwatch Watch;
    if (Request.Output == Emit::Bitcode)
      Result.Output = writeModule(*M);
    else if (Request.Output == Emit::Text)
      raw_svector_ostream(Result.Output) << *M;
    else if (Error E = generateCode())
      return E;
    Result.Report["codegen_ns"] = Watch.nanoseconds();
    return firstError(Sink, R3_CODEGEN_ERROR);
  }

  Error generateCode() {
    fixGlobalsOrder(*M);
    CodeGenFileType Type =
        Request.Output == Emit::Object ? CodeGenFileType::ObjectFile : CodeGenFileType::AssemblyFile;
    return emitCode(*M, *Machine, Type, Result.Output);
  }

  const CompileRequest &Request;
  Diagnostics Sink;
  LLVMContext Context;
  std::unique_ptr<Module> M;
  std::unique_ptr<TargetMachine> Machine;
  Product Result;
};

} // namespace

Expected<Product> compileModule(ArrayRef<uint8_t> Bitcode, const CompileRequest &Request) {
  return Compilation(Request).run(Bitcode);
}

} // namespace r3
