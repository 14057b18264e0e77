// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs launches: the blocks of a grid over the workers, each block in the form its kernel has.
#ifndef R3CPU_ENGINE_H
#define R3CPU_ENGINE_H

#include "block_scheduler.h"
#include "module.h"
#include "worker_pool.h"

#include <csetjmp>
#include <memory>
#include <mutex>
#include <vector>

namespace r3::cpu {

/// Limits that a launch must keep, as on NVIDIA's devices.
constexpr uint32_t kMaxThreadsPerBlock = 1024;
constexpr uint32_t kMaxBlockExtent[3] = {1024, 1024, 64};
constexpr uint32_t kMaxGridExtent[3] = {2147483647u, 65535, 65535};
constexpr uint32_t kMaxSharedPerBlock = 227 * 1024;

struct Launch {
  const r3cpu_kernel *kernel;
  r3cpu_dim3 grid;
  r3cpu_dim3 block;
  uint32_t shared; ///< dynamic shared bytes
  const void *arguments;
  size_t argument_size;
};

/// The block being run, with what the engine keeps beside its description.
struct BlockState {
  r3cpu_block block; ///< first: kernels hand back its address
  BlockScheduler *scheduler;
  bool loop;
  unsigned char implicit_arguments[256]; ///< AMD: hidden kernel arguments of code object version 5
  unsigned char dispatch_packet[64];     ///< AMD: HSA's packet
  std::jmp_buf end_of_loop;              ///< where a trap in loop form goes
  BlockOutcome outcome;
};

class Engine {
public:
  static Engine &instance();

  unsigned workers() const { return pool_.workers(); }
  /// Runs a launch to its end and returns its wall time in nanoseconds. Throws EngineError.
  uint64_t run(const Launch &launch);

private:
  /// What one worker keeps between blocks.
  struct Worker {
    BlockScheduler scheduler;
    BlockState state;
    std::vector<unsigned char> shared;
  };

  explicit Engine(unsigned workers);
  bool runBlocks(const Launch &launch, unsigned worker, uint64_t first, uint64_t last);
  void prepareState(const Launch &launch, Worker &worker, unsigned index);
  static void runBlock(const Launch &launch, BlockState &state);
  static void runLoopBlock(const Launch &launch, BlockState &state);
  void fail(const BlockOutcome &outcome);

  WorkerPool pool_;
  std::vector<std::unique_ptr<Worker>> states_;
  std::mutex launch_mutex_;
  std::mutex failure_mutex_;
  BlockOutcome failure_;
  uint64_t launches_ = 0;
};

} // namespace r3::cpu

#endif
