// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/codegen_facts.h"

#include "common/digest.h"

#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace r3 {
namespace {

/// The text that PassBuilder parses between "default<" and ">".
StringRef levelName(OptimizationLevel Level) {
  if (Level.getSizeLevel() > 0)
    return Level.getSizeLevel() == 1 ? "Os" : "Oz";
  constexpr StringLiteral Names[] = {"O0", "O1", "O2", "O3"};
  return Names[Level.getSpeedupLevel()];
}

StringRef fusionName(FPOpFusion::FPOpFusionMode Mode) {
  switch (Mode) {
  case FPOpFusion::Fast:
    return "fast";
  case FPOpFusion::Standard:
    return "on";
  case FPOpFusion::Strict:
    return "never";
  }
  llvm_unreachable("FP fusion mode");
}

/// What the driver passes to ptxas, apart from target, file names, -v and the -c of relocatable device code.
json::Array ptxasOptions(OptimizationLevel Level, const Cc1Command &Cc1,
                         const std::vector<std::string> &Arguments) {
  json::Array Options;
  bool FullDebugInfo = !Cc1.debugInfo.empty() && Cc1.debugInfo != "line-directives-only";
  if (FullDebugInfo)
    Options.insert(Options.end(), {"-g", "--dont-merge-basicblocks", "--return-at-end"});
  else
    Options.push_back("-O" + std::to_string(Level.getSpeedupLevel()));
  if (Cc1.debugInfo == "line-directives-only")
    Options.push_back("-lineinfo");
  for (size_t Index = 0; Index + 1 < Arguments.size(); ++Index)
    if (Arguments[Index] == "-Xcuda-ptxas")
      Options.push_back(json::fixUTF8(Arguments[++Index]));
  return Options;
}

json::Array texts(const std::vector<std::string> &Texts) {
  json::Array Array;
  for (const std::string &Text : Texts)
    Array.push_back(json::fixUTF8(Text));
  return Array;
}

std::string libdeviceDigest(const Cc1Command &Cc1) {
  if (Cc1.builtinBitcode.empty())
    return {};
  return fileSha256(Cc1.builtinBitcode.front()).value_or("");
}

} // namespace

json::Object codegenFacts(const TargetMachine &Machine, const PipelineTuningOptions &Tuning,
                          OptimizationLevel Level, const Cc1Command &Cc1,
                          const std::vector<std::string> &UserArguments) {
  return json::Object{{"pipeline", ("default<" + levelName(Level) + ">").str()},
                      {"opt_level", Level.getSpeedupLevel()},
                      {"codegen_level", static_cast<int>(Machine.getOptLevel())},
                      {"fp_contract", fusionName(Machine.Options.AllowFPOpFusion)},
                      {"features", Machine.getTargetFeatureString()},
                      {"cpu", Machine.getTargetCPU()},
                      {"vectorize_loops", Tuning.LoopVectorization},
                      {"vectorize_slp", Tuning.SLPVectorization},
                      {"unroll_loops", Tuning.LoopUnrolling},
                      {"relocatable", Cc1.relocatableDeviceCode},
                      {"mllvm", texts(Cc1.llvmOptions)},
                      {"ptxas", ptxasOptions(Level, Cc1, UserArguments)},
                      {"libdevice_sha256", libdeviceDigest(Cc1)}};
}

} // namespace r3
