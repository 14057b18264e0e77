// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/unit_options.h"

#include "common/ptxas_request.h"
#include "replay/llvm_options.h"
#include "replay/result.h"

#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace r3 {
namespace {

std::optional<std::string> lookUp(const std::map<std::string, std::string> &Texts, StringRef Key) {
  auto Found = Texts.find(Key.str());
  return Found == Texts.end() ? std::nullopt : std::optional(Found->second);
}

std::optional<FPContract> contractNamed(StringRef Name) {
  return StringSwitch<std::optional<FPContract>>(Name)
      .Case("off", FPContract::Off)
      .Case("on", FPContract::On)
      .Case("fast", FPContract::Fast)
      .Case("never", FPContract::Never)
      .Default(std::nullopt);
}

FPContract contractOf(const TargetMachine &Machine) {
  switch (Machine.Options.AllowFPOpFusion) {
  case FPOpFusion::Fast:
    return FPContract::Fast;
  case FPOpFusion::Standard:
    return FPContract::On;
  case FPOpFusion::Strict:
    return FPContract::Never;
  }
  llvm_unreachable("all modes handled");
}

FPOpFusion::FPOpFusionMode fusionFor(FPContract Contract) {
  if (Contract == FPContract::Fast)
    return FPOpFusion::Fast;
  return Contract == FPContract::Never ? FPOpFusion::Strict : FPOpFusion::Standard;
}

std::vector<std::string> llvmOptions(const ProfileEntry &Entry) {
  std::vector<std::string> Options;
  for (const auto &[Key, Value] : Entry.unitOptions)
    if (StringRef Name = Key; Name.consume_front("mllvm:"))
      Options.push_back(("-" + Name + "=" + Value).str());
  return Options;
}

/// A level that was searched for is taken; one that the kernel was merely validated at raises a lower one.
void applyLevel(const ProfileEntry &Entry, TargetMachine &Machine, std::vector<std::string> &Notes) {
  unsigned Own = static_cast<unsigned>(Machine.getOptLevel());
  if (Own == Entry.codegenLevel)
    return;
  std::string Levels = ("code-generation level " + Twine(Own) + " of the unit, " + Twine(Entry.codegenLevel) +
                        " in the profile")
                           .str();
  if (Own > Entry.codegenLevel && !Entry.unitOptions.count("opt-level")) {
    Notes.push_back(Levels + ": the unit's is kept");
    return;
  }
  Machine.setOptLevel(static_cast<CodeGenOptLevel>(Entry.codegenLevel));
  Notes.push_back(Levels + ": the profile's holds for the whole unit");
}

} // namespace

CompileRequest unitRequest(const TargetMachine &Machine, const PipelineTuningOptions &Tuning,
                           StringRef Pipeline) {
  CompileRequest Request;
  Request.Pipeline = Pipeline.str();
  Request.Contract = contractOf(Machine);
  Request.VectorizeLoops = Tuning.LoopVectorization;
  Request.VectorizeSLP = Tuning.SLPVectorization;
  Request.UnrollLoops = Tuning.LoopUnrolling;
  Request.Output = Emit::Bitcode;
  return Request;
}

CompileRequest requestFor(const ProfileEntry &Entry, CompileRequest Request) {
  Request.Pipeline = Entry.pipeline.value_or(Request.Pipeline);
  Request.CodegenLevel = Entry.codegenLevel;
  if (std::optional<std::string> Name = lookUp(Entry.unitOptions, "fp-contract"))
    Request.Contract = contractNamed(*Name).value_or(Request.Contract);
  Request.LLVMOptions = llvmOptions(Entry);
  Request.Attributes.MaxNTid = lookUp(Entry.attributes, "maxntid");
  Request.Attributes.MinCTASm = lookUp(Entry.attributes, "minctasm");
  Request.Attributes.MaxNReg = lookUp(Entry.attributes, "maxnreg");
  return Request;
}

Error applyToUnit(const ProfileEntry &Entry, TargetMachine &Machine, std::vector<std::string> &Notes) {
  std::vector<std::string> Options = llvmOptions(Entry);
  if (!Options.empty())
    if (Error E = applyLLVMOptions(Options))
      return E;
  if (std::optional<std::string> Name = lookUp(Entry.unitOptions, "fp-contract")) {
    std::optional<FPContract> Contract = contractNamed(*Name);
    if (!Contract)
      return makeError(R3_BAD_REQUEST, "fp-contract takes no \"" + *Name + "\"");
    Machine.Options.AllowFPOpFusion = fusionFor(*Contract);
  }
  applyLevel(Entry, Machine, Notes);
  return Error::success();
}

std::string ptxasComments(const ProfileEntry &Entry) {
  std::string Lines;
  for (auto [Key, Flag] : {std::pair("ptxas-opt", "-O"), std::pair("maxrregcount", "--maxrregcount=")})
    if (std::optional<std::string> Value = lookUp(Entry.unitOptions, Key))
      Lines += (Twine(ptxas::FlagComment) + Flag + *Value + "\n").str();
  return Lines;
}

} // namespace r3
