// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Target machines made as clang makes them.
#ifndef R3_PASSES_REPLAY_TARGET_H
#define R3_PASSES_REPLAY_TARGET_H

#include "llvm/Support/CodeGen.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

#include <memory>
#include <string>

namespace r3 {

struct TargetSpec {
  llvm::Triple Triple;
  std::string CPU;
  std::string Features;
  llvm::CodeGenOptLevel Level = llvm::CodeGenOptLevel::Aggressive;
  llvm::FPOpFusion::FPOpFusionMode Fusion = llvm::FPOpFusion::Standard;
};

/// R3_UNSUPPORTED if this LLVM has no such target, R3_BAD_REQUEST if the CPU is not one of the target's.
llvm::Expected<std::unique_ptr<llvm::TargetMachine>> createTargetMachine(const TargetSpec &Spec);

/// Whether Target is a GPU's.
bool isDeviceTriple(const llvm::Triple &Target);

/// Registers the targets that replay compiles for (NVPTX, AMDGPU and the host's); once a process,
/// thread-safe.
void initializeTargets();

} // namespace r3

#endif
