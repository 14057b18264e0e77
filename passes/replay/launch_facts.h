// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The facts that decide which launches of a kernel are legal.
#ifndef R3_PASSES_REPLAY_LAUNCH_FACTS_H
#define R3_PASSES_REPLAY_LAUNCH_FACTS_H

#include "llvm/IR/Module.h"

#include <cstdint>
#include <optional>

namespace r3 {

struct LaunchFacts {
  bool ReadsBlockSize = false;
  bool ReadsGridSize = false;
  /// Bytes of the shared variables that the kernel can reach.
  uint64_t StaticShared = 0;
  bool DynamicShared = false;
  /// Calls in the kernel's closure.
  unsigned Barriers = 0, WarpOperations = 0, Atomics = 0;
  /// Threads a block, from the source's launch bounds.
  std::optional<uint64_t> MaxThreads;
};

LaunchFacts launchFacts(llvm::Module &M, llvm::Function &Kernel);

} // namespace r3

#endif
