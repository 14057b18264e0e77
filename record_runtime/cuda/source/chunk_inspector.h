// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"
#include "r3core/recorder.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace r3::cuda {

/// Looks at device memory by kernels of its own (chunk_kernels.cu), so that it needn't be copied.
///
/// Works on the current context, whose device must be idle and hold the memory. Where its kernels can't be
/// had or a call fails, every member returns false from then on.
class ChunkInspector {
public:
  /// Memory shorter than this is copied in less time than it takes to ask.
  static constexpr std::uint64_t SmallestBytes = std::uint64_t(1) << 20;

  bool fingerprint(std::uint64_t address, std::uint64_t size, std::vector<Fingerprint> &chunks);
  bool findPointers(std::uint64_t address, std::uint64_t size, const std::vector<PointerTarget> &targets,
                    std::vector<std::uint8_t> &hits);
  /// The context is gone, and with it code and memory in it.
  void forget(CUcontext context);

private:
  struct Buffer {
    CUdeviceptr address = 0;
    std::size_t size = 0;
  };
  struct Loaded {
    CUfunction fingerprints = nullptr, findPointers = nullptr;
    Buffer results, targets;
    std::vector<PointerTarget> onDevice; ///< what `targets` holds
  };

  /// The kernels in the current context; null if they can't be had.
  Loaded *loaded();
  bool makeRoom(Buffer &buffer, std::size_t size);
  bool place(Loaded &code, const std::vector<PointerTarget> &targets);
  bool giveUp();

  std::mutex mutex; // of all below
  bool usable = true;
  std::map<CUcontext, Loaded> contexts;
};

} // namespace r3::cuda
