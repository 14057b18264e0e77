// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The face of libR3Passes.so for clang (-fpass-plugin) and opt.
#include "capture/device_capture.h"
#include "capture/host_embed.h"
#include "capture/pass_builder_access.h"
#include "use/device_use.h"

#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Target/TargetMachine.h"

using namespace llvm;

namespace r3 {
namespace {

bool isDevice(const Triple &Target) { return Target.isNVPTX() || Target.isAMDGCN(); }

void addCapture(const PassBuilder &Builder, ModulePassManager &Passes, OptimizationLevel Level) {
  const TargetMachine *Machine = targetMachine(Builder);
  if (!Machine)
    return;
  if (isDevice(Machine->getTargetTriple()))
    Passes.addPass(DeviceCapture(Machine, tuningOptions(Builder), Level));
  else
    Passes.addPass(HostEmbed());
}

void registerCapture(PassBuilder &Builder) {
  Builder.registerPipelineStartEPCallback(
      [&Builder](ModulePassManager &Passes, OptimizationLevel Level) { addCapture(Builder, Passes, Level); });
}

/// The start of the pipeline keeps the module, the end puts the tuned kernels in.
void registerUse(PassBuilder &Builder, TargetMachine *Machine, UseSettings Settings) {
  std::shared_ptr<TunedUnit> Unit = makeTunedUnit(std::move(Settings));
  Builder.registerPipelineStartEPCallback(
      [&Builder, Machine, Unit](ModulePassManager &Passes, OptimizationLevel Level) {
        Passes.addPass(TunedStart(Unit, Machine, tuningOptions(Builder), Level));
      });
  Builder.registerOptimizerLastEPCallback([Unit](ModulePassManager &Passes, OptimizationLevel,
                                                 ThinOrFullLTOPhase) { Passes.addPass(TunedEnd(Unit)); });
}

void registerCallbacks(PassBuilder &Builder) {
  TargetMachine *Machine = targetMachine(Builder);
  UseSettings Settings = UseSettings::fromEnvironment();
  if (Machine && isDevice(Machine->getTargetTriple()) && !Settings.profilePath.empty())
    registerUse(Builder, Machine, std::move(Settings));
  else
    registerCapture(Builder);
}

} // namespace
} // namespace r3

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "R3", LLVM_VERSION_STRING, r3::registerCallbacks, nullptr};
}
