// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "use/device_use.h"

#include "capture/device_capture.h"
#include "capture/handoff_file.h"
#include "common/describe.h"
#include "common/digest.h"
#include "common/ptxas_request.h"
#include "replay/compile.h"
#include "replay/extract.h"
#include "replay/llvm_options.h"
#include "replay/module.h"
#include "replay/specialise.h"
#include "use/messages.h"
#include "use/replace.h"
#include "use/tuned_note.h"
#include "use/unit_options.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdlib>
#include <deque>
#include <set>

using namespace llvm;

namespace r3 {
namespace {

/// Edited pipelines need it in the place of what default<O3> does by itself, and to that it means nothing
/// (r3cc/tune/edits.py).
constexpr StringLiteral ValueOfTexts = "mllvm:unroll-threshold-default";

ArrayRef<uint8_t> bytes(StringRef Text) { return arrayRefFromStringRef(Text); }

ArrayRef<uint8_t> bytes(const SmallVector<char, 0> &Buffer) {
  return ArrayRef(reinterpret_cast<const uint8_t *>(Buffer.data()), Buffer.size());
}

/// A kernel with its code, optimised on its own.
struct OptimisedKernel {
  size_t outcome; ///< index
  SmallVector<char, 0> bitcode;
};

/// The kernel alone, the values of its version in place: what replay's pipelines begin with.
Expected<SmallVector<char, 0>> extractAlone(StringRef Captured, const KernelOutcome &Outcome) {
  Expected<Product> Alone = extractKernel(bytes(Captured), {Outcome.name});
  if (!Alone)
    return Alone.takeError();
  if (!Outcome.version)
    return std::move(Alone->Output);
  Expected<Product> Special =
      specialiseKernel(bytes(Alone->Output), specialiseRequest(Outcome.name, *Outcome.version));
  if (!Special)
    return Special.takeError();
  return std::move(Special->Output);
}

/// The kernel alone, through its own pipeline: the same steps that judged it.
Expected<SmallVector<char, 0>> optimiseAlone(StringRef Captured, const KernelOutcome &Outcome,
                                             const CompileRequest &Request) {
  Expected<SmallVector<char, 0>> Alone = extractAlone(Captured, Outcome);
  if (!Alone)
    return Alone.takeError();
  Expected<Product> Optimised = compileModule(bytes(*Alone), Request);
  if (!Optimised)
    return Optimised.takeError();
  return std::move(Optimised->Output);
}

/// The captured module with the kernel's version as one more kernel, not optimised: the cpu device compiles
/// it as any other.
Expected<std::string> withVersion(StringRef Captured, const KernelOutcome &Outcome) {
  Expected<SmallVector<char, 0>> Alone = extractAlone(Captured, Outcome);
  if (!Alone)
    return Alone.takeError();
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> Whole = loadModule(bytes(Captured), Context);
  if (!Whole)
    return Whole.takeError();
  HeldVariables Held;
  Held.hold(**Whole, *(*Whole)->getFunction(Outcome.name));
  if (Error E = addVersion(**Whole, Outcome.name, Outcome.version->name, bytes(*Alone),
                           ClosureLinkage::AsValidated))
    return E;
  Held.release(**Whole);
  SmallVector<char, 0> Written = writeModule(**Whole);
  return std::string(Written.begin(), Written.end());
}

/// Whether a kernel has parameters of these sizes.
bool hasArguments(const Function &Kernel, ArrayRef<ScalarGuard> Scalars) {
  auto Known = parameterLayout(Kernel);
  return all_of(Scalars, [&](const ScalarGuard &Scalar) {
    return Scalar.index < Known.size() && Known[Scalar.index].size == Scalar.size;
  });
}

/// The parts of a capture's JSON that a binary without IR still tells.
json::Object withoutIr(const json::Object &Whole) {
  json::Object Fields;
  for (StringRef Key : {"version", "architecture", "triple", "source", "source_sha256", "compiler"})
    if (const json::Value *Value = Whole.get(Key))
      Fields[Key] = *Value;
  return Fields;
}

} // namespace

/// What the start of a unit's pipeline found out, until its end.
class TunedUnit {
public:
  explicit TunedUnit(UseSettings Settings) : Settings(std::move(Settings)) {}

  void begin(Module &M, TargetMachine &Machine, const PipelineTuningOptions &Tuning,
             OptimizationLevel Level) {
    Captured = captureModule(M, Machine, Tuning, Level);
    UnitRequest =
        unitRequest(Machine, Tuning, *Captured.document.getObject("codegen")->getString("pipeline"));
    Expected<Profile> Read = readProfile(Settings.profilePath);
    if (!Read) {
      warnOnce(M, toString(Read.takeError()) + " (compiling without it)");
      return;
    }
    Used = std::move(*Read);
    for (Function &F : M)
      if (isKernel(F))
        Outcomes.push_back({F.getName().str(), chooseEntry(*Used, Settings, F.getName(), architecture(),
                                                           bytes(Captured.module.bitcode))});
    warnOfMissing(M);
    shareValueOfTexts();
    for (size_t Index = 0; Index < Outcomes.size(); ++Index)
      if (Outcomes[Index].choice.match == Match::Tuned)
        use(M, Machine, Index);
  }

  void end(Module &M) {
    bool Changed = !Optimised.empty();
    for (const OptimisedKernel &Kernel : Optimised)
      if (Error E = putIn(M, Outcomes[Kernel.outcome], bytes(Kernel.bitcode)))
        leaveOut(M, Kernel.outcome, toString(std::move(E)));
    if (Changed)
      Held.release(M);
    if (Changed && !PtxasLines.empty())
      M.appendModuleInlineAsm(PtxasLines);
    Optimised.clear();
    handOver(M);
  }

private:
  Error putIn(Module &M, const KernelOutcome &Outcome, ArrayRef<uint8_t> Code) const {
    if (Outcome.version)
      return addVersion(M, Outcome.name, Outcome.version->name, Code, closureLinkage());
    return replaceKernel(M, Outcome.name, Code, closureLinkage());
  }

  ClosureLinkage closureLinkage() const {
    const json::Object *Codegen = Captured.document.getObject("codegen");
    return Codegen && Codegen->getBoolean("relocatable").value_or(false) ? ClosureLinkage::Internal
                                                                         : ClosureLinkage::AsValidated;
  }

  StringRef architecture() const { return Captured.module.architecture; }

  void leaveOut(const Module &M, size_t Index, const std::string &Reason) {
    KernelOutcome &Outcome = Outcomes[Index];
    Outcome.applied = false;
    Outcome.version.reset();
    Outcome.notes.push_back(Reason);
    warnOnce(M, M.getSourceFileName() + ": " + demangle(Outcome.name) + " is built plainly: " + Reason);
  }

  /// A kernel at default<O3> takes what others of its unit need, so that they don't disagree.
  void shareValueOfTexts() {
    const std::string Key = ValueOfTexts.str();
    std::optional<std::string> Value;
    for (const KernelOutcome &Outcome : Outcomes)
      if (Outcome.choice.match == Match::Tuned && Outcome.choice.entry->unitOptions.count(Key))
        Value = Outcome.choice.entry->unitOptions.at(Key);
    for (KernelOutcome &Outcome : Outcomes)
      if (Value && Outcome.choice.match == Match::Tuned && Outcome.choice.entry->pipeline == "default<O3>") {
        Completed.push_back(*Outcome.choice.entry);
        Completed.back().unitOptions.emplace(Key, *Value);
        Outcome.choice.entry = &Completed.back();
      }
  }

  void use(Module &M, TargetMachine &Machine, size_t Index) {
    KernelOutcome &Outcome = Outcomes[Index];
    const ProfileEntry &Entry = *Outcome.choice.entry;
    Outcome.applied = true;
    if (Entry.launch && !hasArguments(*M.getFunction(Outcome.name), Entry.launch->scalars))
      return leaveOut(M, Index, "its launch rule asks for an argument that the kernel doesn't have");
    if (Entry.specialised)
      Outcome.version = versionFor(Entry, *M.getFunction(Outcome.name));
    if (Settings.forCpu())
      return Outcome.version ? keepVersion(M, Index) : void();
    if (!(Entry.pipeline || !Entry.attributes.empty()))
      return; // its launch rule is all there is
    if (UnitOptions && *UnitOptions != Entry.unitOptions)
      return leaveOut(M, Index, "its module-scope values are not those of another tuned kernel of this unit");
    Expected<SmallVector<char, 0>> Code =
        optimiseAlone(Captured.module.bitcode, Outcome, requestFor(Entry, UnitRequest));
    Error Problem = Code
                        ? applyToUnit(Entry, Machine, Outcome.notes) // not before there is code that needs it
                        : Code.takeError();
    if (Problem) {
      if (!UnitOptions) // no other kernel needs them
        dropLLVMOptions(userOptions());
      return leaveOut(M, Index, toString(std::move(Problem)));
    }
    if (!UnitOptions)
      askForPtxas(M, Entry, Outcome.notes);
    UnitOptions = Entry.unitOptions;
    Held.hold(M, *M.getFunction(Outcome.name));
    Optimised.push_back({Index, std::move(*Code)});
  }

  std::vector<std::string> userOptions() const {
    std::vector<std::string> Options;
    for (const json::Value &Option : *Captured.document.getObject("codegen")->getArray("mllvm"))
      Options.push_back(Option.getAsString()->str());
    return Options;
  }

  /// ptxas is another process: its flags travel in the PTX.
  void askForPtxas(const Module &M, const ProfileEntry &Entry, std::vector<std::string> &Notes) {
    std::string Lines = ptxasComments(Entry);
    if (Lines.empty())
      return;
    if (std::getenv(ptxas::RealVariable)) {
      PtxasLines = std::move(Lines);
      return;
    }
    Notes.push_back("its ptxas flags are left out: this build's ptxas is the user's own choice");
    warnOnce(M, M.getSourceFileName() + ": the profile's ptxas flags are left out: this build's ptxas is the "
                                        "user's own choice");
  }

  /// The IR that a build for the cpu device carries has the version, too.
  void keepVersion(Module &M, size_t Index) {
    Expected<std::string> Bitcode = withVersion(Captured.module.bitcode, Outcomes[Index]);
    if (!Bitcode)
      return leaveOut(M, Index, toString(Bitcode.takeError()));
    Captured.module.bitcode = std::move(*Bitcode);
    Captured.document["module"] = sha256(Captured.module.bitcode);
  }

  void warnOfMissing(const Module &M) {
    bool Missing = false;
    for (const KernelOutcome &Outcome : Outcomes) {
      if (Outcome.choice.match == Match::HasChanged)
        warnOnce(M, M.getSourceFileName() + ": " + demangle(Outcome.name) +
                        " is not the code that the profile " + Used->path +
                        " was made for (its source or its flags have changed); it is built plainly "
                        "until it is tuned again");
      Missing |= Outcome.choice.match == Match::NoDevice;
    }
    if (Missing)
      warnOnce(M, "the profile " + Used->path + " has nothing for " +
                      (Settings.forCpu() ? "the cpu device and " : "") + architecture() + " but for " +
                      join(devices(), ", ") + "; kernels that it names are built plainly");
  }

  std::set<std::string> devices() const {
    std::set<std::string> Names;
    for (const ProfileEntry &Entry : Used->entries)
      Names.insert(Entry.device + " (" + Entry.architecture + ")");
    return Names;
  }

  /// Without a profile that could be read the build is a plain one, and tells so: it carries its IR.
  void handOver(const Module &M) {
    std::optional<HandoffFile> Handoff = HandoffFile::forDevice();
    if (!Handoff)
      return;
    bool KeepsIr = Settings.forCpu() || !Used;
    json::Object Note = KeepsIr ? std::move(Captured.document) : withoutIr(Captured.document);
    if (Used) {
      Note["profile"] = describeProfile(*Used);
      describeKernels(Note);
    }
    CapturedModule Module = std::move(Captured.module);
    if (!KeepsIr)
      Module.bitcode.clear();
    raw_string_ostream(Module.json) << json::Value(std::move(Note));
    if (!Handoff->add(Module))
      warnOnce(M, "no memory to hand the note of a tuned build to the host compilation");
  }

  /// Adds to each kernel what the profile did to it.
  void describeKernels(json::Object &Note) {
    json::Array Kernels;
    const json::Array *Known = Note.getArray("kernels");
    auto Add = [&](json::Object Kernel, StringRef Captured) {
      if (Known)
        for (const json::Value &Value : *Known)
          if (const json::Object *Own = Value.getAsObject(); Own && Own->getString("name") == Captured)
            for (const auto &[Key, Field] : *Own)
              Kernel.try_emplace(Key, Field);
      Kernels.push_back(std::move(Kernel));
    };
    for (const KernelOutcome &Outcome : Outcomes) {
      Add(describeOutcome(Outcome), Outcome.name);
      if (Outcome.version)
        Add(describeVersion(Outcome), Outcome.name);
    }
    Note["kernels"] = std::move(Kernels);
  }

  UseSettings Settings;
  Capture Captured;
  CompileRequest UnitRequest; ///< as the user's flags say
  std::optional<Profile> Used;
  std::deque<ProfileEntry> Completed; ///< entries with more than the profile has
  std::vector<KernelOutcome> Outcomes;
  std::vector<OptimisedKernel> Optimised;
  std::optional<std::map<std::string, std::string>> UnitOptions;
  std::string PtxasLines; ///< comments for the unit's PTX
  HeldVariables Held;
};

std::shared_ptr<TunedUnit> makeTunedUnit(UseSettings Settings) {
  return std::make_shared<TunedUnit>(std::move(Settings));
}

PreservedAnalyses TunedStart::run(Module &M, ModuleAnalysisManager &) {
  Unit->begin(M, *Machine, Tuning, Level);
  return PreservedAnalyses::none();
}

PreservedAnalyses TunedEnd::run(Module &M, ModuleAnalysisManager &) {
  Unit->end(M);
  return PreservedAnalyses::none();
}

} // namespace r3
