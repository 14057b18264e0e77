// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the threads of one block as fibers and resolves their barriers and warp operations.
#ifndef R3CPU_BLOCK_SCHEDULER_H
#define R3CPU_BLOCK_SCHEDULER_H

#include "fiber.h"
#include "module_abi.h"
#include "r3cpu.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace r3::cpu {

/// How a block ended.
struct BlockOutcome {
  r3cpu_status status = R3CPU_OK;
  std::string message; ///< one sentence, without the kernel's name, unless status is R3CPU_OK
};

enum class Wait : uint8_t { Ready, Barrier, Warp, ActiveMask, Wave, Ended };

enum class WarpOperation : uint8_t { Sync, Shuffle, Vote, MatchAny, MatchAll, Reduce };

/// What a waiting thread asks for, and the answer it gets.
struct Request {
  WarpOperation operation;
  uint32_t mode;
  uint32_t mask;
  uint64_t value;
  uint32_t lane;
  uint32_t clamp;
  uint64_t answer;
};

/// The same of a wave operation (module_abi.h).
struct WaveRequest {
  uint32_t site;
  uint32_t operation;
  uint64_t value;
  uint32_t lane;
  uint64_t fallback;
  uint64_t answer;
};

struct Thread {
  Fiber fiber;
  Wait wait;
  uint32_t barrier; ///< barrier id, or call site of an active mask
  uint32_t index;
  uint32_t x, y, z;
  Request request;
  WaveRequest wave;
};

struct Barrier {
  uint32_t arrived;
  uint32_t expected; ///< 0: every thread that has not ended
  bool last_warp;    ///< a thread of the last warp is among those that arrived
  uint32_t count;
  bool all;
  bool any;
};

class BlockScheduler {
public:
  using KernelEntry = void (*)(r3cpu_block *, const void *, uint32_t, uint32_t, uint32_t);

  /// Makes stacks for blocks of `threads` threads, so that no launch's time holds that. Throws
  /// std::bad_alloc.
  void reserve(uint32_t threads) { stacks_.reserve(threads); }

  /// Runs the block to its end. The block's description must be the first member of a BlockState.
  /// `wave` threads are scheduled as one: 32 or 64.
  BlockOutcome run(KernelEntry entry, r3cpu_block *block, const void *arguments, uint32_t wave);

  // Called from inside threads.
  void barrier(uint32_t id, uint32_t count, bool predicate);
  void arrive(uint32_t id, uint32_t count);
  uint32_t reduceBarrier(uint32_t id, uint32_t count, uint32_t reduction, bool predicate);
  uint64_t warp(WarpOperation operation, uint32_t mask, uint32_t mode, uint64_t value, uint32_t lane = 0,
                uint32_t clamp = 0);
  uint64_t wave(const WaveRequest &request);
  uint32_t activeMask(uint32_t site);
  void yield();
  [[noreturn]] void exit();
  [[noreturn]] void abort(r3cpu_status status, std::string message);

private:
  static constexpr uint32_t kBarriers = 16;

  static void threadMain(void *argument);
  void prepare();
  bool runReadyThreads();
  bool runWarp(uint32_t warp);
  bool resolve();
  bool resolveBarriers();
  bool resolveBarrier(uint32_t id);
  bool resolveWarp(uint32_t warp);
  bool resolveGroup(uint32_t warp, uint32_t leader);
  bool resolveLanes(uint32_t warp, uint32_t first, uint32_t last);
  bool resolveWave(uint32_t first, uint32_t last);
  bool resolveActiveMasks();
  bool resolveActiveMask(uint32_t first, uint32_t last);
  uint32_t liveLanes(uint32_t warp) const;
  void arriveAt(Barrier &barrier, uint32_t count, bool predicate);
  std::string deadlockMessage() const;
  Thread &lane(uint32_t warp, uint32_t lane) { return threads_[warp * R3CPU_WARP_SIZE + lane]; }
  const Thread &lane(uint32_t warp, uint32_t lane) const { return threads_[warp * R3CPU_WARP_SIZE + lane]; }

  KernelEntry entry_ = nullptr;
  r3cpu_block *block_ = nullptr;
  const void *arguments_ = nullptr;
  uint32_t count_ = 0;
  uint32_t warp_size_ = R3CPU_WARP_SIZE;
  uint32_t warps_ = 0;
  uint32_t ended_ = 0;
  Thread *current_ = nullptr;
  bool aborted_ = false;
  BlockOutcome outcome_;
  StackPool stacks_;
  std::vector<Thread> threads_;
  Barrier barriers_[kBarriers] = {};
  struct Released {
    uint32_t count;
    bool all;
    bool any;
  } released_[kBarriers] = {};
};

} // namespace r3::cpu

#endif
