// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/device_capture.h"

#include "capture/cc1_command.h"
#include "capture/codegen_facts.h"
#include "capture/diagnostics.h"
#include "capture/filter.h"
#include "capture/handoff_file.h"
#include "capture/prefix_map.h"
#include "capture/static_variables.h"
#include "common/describe.h"
#include "common/digest.h"

#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Path.h"
#include "llvm/Target/TargetMachine.h"

#include <cstdlib>

using namespace llvm;

namespace r3 {
namespace {

/// While it lives, the module has no optnone, nor the noinline that clang adds with it at -O0.
class WithoutOptNone {
public:
  explicit WithoutOptNone(Module &M) {
    for (Function &F : M)
      if (F.hasOptNone()) {
        Original.emplace_back(&F, F.getAttributes());
        F.removeFnAttr(Attribute::OptimizeNone);
        F.removeFnAttr(Attribute::NoInline);
      }
  }
  ~WithoutOptNone() {
    for (auto &[F, Attributes] : Original)
      F->setAttributes(Attributes);
  }
  WithoutOptNone(const WithoutOptNone &) = delete;
  WithoutOptNone &operator=(const WithoutOptNone &) = delete;

private:
  std::vector<std::pair<Function *, AttributeList>> Original;
};

/// While it lives, the module names its source by another path.
class WithSourceFile {
public:
  WithSourceFile(Module &M, StringRef Path) : M(M), Original(M.getSourceFileName()) {
    M.setSourceFileName(Path);
  }
  ~WithSourceFile() { M.setSourceFileName(Original); }
  WithSourceFile(const WithSourceFile &) = delete;
  WithSourceFile &operator=(const WithSourceFile &) = delete;

private:
  Module &M;
  std::string Original;
};

std::string toBitcode(const Module &M) {
  std::string Bytes;
  raw_string_ostream Stream(Bytes);
  // Passes visit uses in order: without it the replayed pipeline could decide otherwise than the build did.
  WriteBitcodeToFile(M, Stream, /*ShouldPreserveUseListOrder=*/true);
  Stream.flush();
  return Bytes;
}

/// At -O0 every function has optnone; above it, only those that the user wrote it on, and those keep it.
/// Clang maps the paths of debug information, but not the module's own.
std::string captureBitcode(Module &M, OptimizationLevel Level, const PrefixMap &Map) {
  WithSourceFile Mapped(M, Map.path(M.getSourceFileName()));
  if (Level != OptimizationLevel::O0)
    return toBitcode(M);
  WithoutOptNone Guard(M);
  return toBitcode(M);
}

std::string compilerVersion(const Module &M) {
  const NamedMDNode *Identities = M.getNamedMetadata("llvm.ident");
  if (Identities && Identities->getNumOperands() > 0)
    if (const auto *Text = dyn_cast_or_null<MDString>(Identities->getOperand(0)->getOperand(0)))
      return Text->getString().str();
  return "LLVM " LLVM_VERSION_STRING;
}

/// The user's source. With -save-temps the device compilation's input is a file made from it.
std::string sourcePath(const Cc1Command &Cc1, const UserCommand &User) {
  if (sys::path::filename(Cc1.input) == Cc1.mainFile)
    return Cc1.input;
  auto Names = [&](StringRef Argument) { return sys::path::filename(Argument) == Cc1.mainFile; };
  auto Found = find_if(User.arguments, Names);
  return Found == User.arguments.end() ? Cc1.input : *Found;
}

json::Object describeBuild(const Module &M, const Cc1Command &Cc1, const UserCommand &User,
                           const PrefixMap &Map) {
  json::Array Arguments;
  for (const std::string &Argument : User.arguments)
    Arguments.push_back(json::fixUTF8(Map.argument(Argument)));
  std::string Source = sourcePath(Cc1, User);
  return json::Object{{"source", json::fixUTF8(Map.path(Source))},
                      {"source_sha256", fileSha256(Source).value_or("")},
                      {"directory", json::fixUTF8(Map.path(User.directory))},
                      {"command", std::move(Arguments)},
                      {"compiler", compilerVersion(M)}};
}

/// Whether somebody wants the module alone: `r3 remix`, which compiles it in another process.
bool wantsModuleOnly() { return std::getenv("R3_CAPTURE_ONLY") != nullptr; }

/// Leaves nothing to optimise and to generate code for.
void dropBodies(Module &M) {
  for (Function &F : M)
    F.deleteBody();
}

} // namespace

Capture captureModule(Module &M, const TargetMachine &Machine, const PipelineTuningOptions &Tuning,
                      OptimizationLevel Level) {
  Cc1Command Cc1 = currentCc1Command();
  std::optional<HandoffFile> Handoff = HandoffFile::forDevice();
  UserCommand User = Handoff ? Handoff->userCommand() : UserCommand();
  if (Cc1.relocatableDeviceCode && asksForCompatibility(User))
    joinStaticVariables(M);
  PrefixMap Map(User.arguments);
  CapturedModule Captured{Cc1.unit(), Machine.getTargetCPU().str(), {}, captureBitcode(M, Level, Map)};

  ModuleDescription Description = describeModule(M);
  json::Object Document = describeBuild(M, Cc1, User, Map);
  Document["version"] = 1;
  Document["module"] = sha256(Captured.bitcode);
  Document["architecture"] = Captured.architecture;
  Document["triple"] = M.getTargetTriple().str();
  Document["codegen"] = codegenFacts(Machine, Tuning, Level, Cc1, User.arguments);
  Document["kernels"] = toJSON(Description.kernels);
  Document["globals"] = toJSON(Description.globals);
  return {std::move(Captured), std::move(Document)};
}

PreservedAnalyses DeviceCapture::run(Module &M, ModuleAnalysisManager &) {
  std::optional<HandoffFile> Handoff = HandoffFile::forDevice();
  if (!Handoff || !Machine)
    return PreservedAnalyses::all(); // the host compilation says so, once
  CaptureFilter Filter = wantsModuleOnly() ? CaptureFilter() : CaptureFilter::fromEnvironment();
  if (!Filter.takesSource(sourcePath(currentCc1Command(), Handoff->userCommand())))
    return PreservedAnalyses::all();
  Capture Captured = captureModule(M, *Machine, Tuning, Level);
  json::Array Kernels;
  for (json::Value &Kernel : *Captured.document.getArray("kernels"))
    if (Filter.takesKernel(*Kernel.getAsObject()->getString("name")))
      Kernels.push_back(std::move(Kernel));
  if (Kernels.empty() && Filter.choosesKernels())
    return PreservedAnalyses::all();
  Captured.document["kernels"] = std::move(Kernels);
  raw_string_ostream(Captured.module.json) << json::Value(std::move(Captured.document));
  if (!Handoff->add(Captured.module))
    reportNotEmbedded(M, "no memory to hand it from the device to the host compilation");
  if (wantsModuleOnly()) {
    dropBodies(M);
    return PreservedAnalyses::none();
  }
  return PreservedAnalyses::all();
}

} // namespace r3
