// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How far apart in memory neighbouring threads of a kernel read and write, axis by axis.
#ifndef R3_PASSES_REPLAY_ACCESS_STRIDES_H
#define R3_PASSES_REPLAY_ACCESS_STRIDES_H

#include "llvm/IR/Function.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>

namespace r3 {

/// Bytes from a thread's address to that of the next one along an axis; none where that isn't a constant, as
/// with a row of the grid's width or an index from memory.
using Stride = std::optional<int64_t>;

struct AccessPattern {
  uint64_t Bytes; ///< of one thread
  std::array<Stride, 3> Strides;

  bool operator<(const AccessPattern &Other) const {
    return std::tie(Bytes, Strides) < std::tie(Other.Bytes, Other.Strides);
  }
};

/// Loads, stores and atomics on global memory in Kernel's own body, counted by their pattern. Call it on a
/// module that exposeAccesses() has seen.
std::map<AccessPattern, unsigned> accessPatterns(llvm::Function &Kernel);

} // namespace r3

#endif
