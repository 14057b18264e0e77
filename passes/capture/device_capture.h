// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device side: hands the module, as it is before any optimisation, to the host compilation of the same
// source.
#ifndef R3_CAPTURE_DEVICE_CAPTURE_H
#define R3_CAPTURE_DEVICE_CAPTURE_H

#include "capture/handoff_file.h"

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/JSON.h"

namespace r3 {

/// A module as it is before any optimisation; its JSON is still an object.
struct Capture {
  CapturedModule module;
  llvm::json::Object document;
};

/// Leaves M as it was.
Capture captureModule(llvm::Module &M, const llvm::TargetMachine &Machine,
                      const llvm::PipelineTuningOptions &Tuning, llvm::OptimizationLevel Level);

/// Leaves the module as it found it.
class DeviceCapture : public llvm::PassInfoMixin<DeviceCapture> {
public:
  DeviceCapture(const llvm::TargetMachine *Machine, const llvm::PipelineTuningOptions &Tuning,
                llvm::OptimizationLevel Level)
      : Machine(Machine), Tuning(Tuning), Level(Level) {}

  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; } // optnone and opt-bisect don't concern it

private:
  const llvm::TargetMachine *Machine;
  llvm::PipelineTuningOptions Tuning;
  llvm::OptimizationLevel Level;
};

} // namespace r3

#endif
