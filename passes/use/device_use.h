// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device side of a tuned build: a profile's pipelines and options for its kernels, everything else as the
// user's flags say.
#ifndef R3_USE_DEVICE_USE_H
#define R3_USE_DEVICE_USE_H

#include "use/choice.h"

#include "llvm/IR/PassManager.h"
#include "llvm/Passes/OptimizationLevel.h"
#include "llvm/Passes/PassBuilder.h"

#include <memory>

namespace r3 {

class TunedUnit;

/// The start and the end of one unit's pipeline, which share what they know.
std::shared_ptr<TunedUnit> makeTunedUnit(UseSettings Settings);

/// At pipeline start: finds the tuned kernels, runs their pipelines on copies, gives the unit its
/// module-scope values, and hands the note to the host compilation.
class TunedStart : public llvm::PassInfoMixin<TunedStart> {
public:
  TunedStart(std::shared_ptr<TunedUnit> Unit, llvm::TargetMachine *Machine,
             const llvm::PipelineTuningOptions &Tuning, llvm::OptimizationLevel Level)
      : Unit(std::move(Unit)), Machine(Machine), Tuning(Tuning), Level(Level) {}

  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }

private:
  std::shared_ptr<TunedUnit> Unit;
  llvm::TargetMachine *Machine;
  llvm::PipelineTuningOptions Tuning;
  llvm::OptimizationLevel Level;
};

/// At its end: puts the tuned kernels in place.
class TunedEnd : public llvm::PassInfoMixin<TunedEnd> {
public:
  explicit TunedEnd(std::shared_ptr<TunedUnit> Unit) : Unit(std::move(Unit)) {}

  llvm::PreservedAnalyses run(llvm::Module &M, llvm::ModuleAnalysisManager &);
  static bool isRequired() { return true; }

private:
  std::shared_ptr<TunedUnit> Unit;
};

} // namespace r3

#endif
