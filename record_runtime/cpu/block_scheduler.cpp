// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "block_scheduler.h"

#include "warp.h"

#include <algorithm>

namespace r3::cpu {

BlockOutcome BlockScheduler::run(KernelEntry entry, r3cpu_block *block, const void *arguments,
                                 uint32_t wave) {
  warp_size_ = wave;
  entry_ = entry;
  block_ = block;
  arguments_ = arguments;
  prepare();
  while (ended_ < count_ && !aborted_) {
    bool progressed = runReadyThreads();
    if (aborted_)
      break;
    progressed |= resolve();
    if (!progressed && ended_ < count_)
      return {R3CPU_DEADLOCK, deadlockMessage()};
  }
  return std::move(outcome_);
}

void BlockScheduler::prepare() {
  count_ = block_->block[0] * block_->block[1] * block_->block[2];
  warps_ = (count_ + warp_size_ - 1) / warp_size_;
  ended_ = 0;
  aborted_ = false;
  outcome_ = {};
  std::fill(std::begin(barriers_), std::end(barriers_), Barrier{0, 0, false, 0, true, false});
  if (threads_.size() < count_)
    threads_.resize(count_);
  for (uint32_t i = 0; i < count_; ++i) {
    Thread &thread = threads_[i];
    thread.wait = Wait::Ready;
    thread.index = i;
    thread.x = i % block_->block[0];
    thread.y = i / block_->block[0] % block_->block[1];
    thread.z = i / block_->block[0] / block_->block[1];
    thread.fiber.start(stacks_.top(i), StackPool::size(i), &threadMain, this);
  }
}

void BlockScheduler::threadMain(void *argument) {
  auto *self = static_cast<BlockScheduler *>(argument);
  Thread &thread = *self->current_;
  self->entry_(self->block_, self->arguments_, thread.x, thread.y, thread.z);
  self->exit();
}

bool BlockScheduler::runReadyThreads() {
  bool any = false;
  for (uint32_t warp = 0; warp < warps_ && !aborted_; ++warp)
    any |= runWarp(warp);
  return any;
}

// A warp goes on by itself as long as its own operations resolve: its stacks and data stay in the cache.
bool BlockScheduler::runWarp(uint32_t warp) {
  bool any = false;
  uint32_t first = warp * warp_size_;
  uint32_t last = std::min(first + warp_size_, count_);
  do {
    for (uint32_t i = first; i < last && !aborted_; ++i) {
      if (threads_[i].wait != Wait::Ready)
        continue;
      current_ = &threads_[i];
      current_->fiber.resume();
      any = true;
    }
  } while (!aborted_ && resolveLanes(warp, first, last));
  return any;
}

// CUDA's operations name their lanes, AMD's take who is there.
bool BlockScheduler::resolveLanes(uint32_t warp, uint32_t first, uint32_t last) {
  return (warp_size_ == R3CPU_WARP_SIZE && resolveWarp(warp)) || resolveWave(first, last);
}

// Active masks come last: they ask who else is here once everybody who can run has run.
bool BlockScheduler::resolve() { return resolveBarriers() || resolveActiveMasks(); }

void BlockScheduler::arriveAt(Barrier &barrier, uint32_t count, bool predicate) {
  barrier.arrived += 1;
  barrier.expected = count;
  barrier.last_warp |= current_->index / warp_size_ == warps_ - 1;
  barrier.count += predicate;
  barrier.all &= predicate;
  barrier.any |= predicate;
}

void BlockScheduler::barrier(uint32_t id, uint32_t count, bool predicate) {
  id %= kBarriers;
  arriveAt(barriers_[id], count, predicate);
  current_->wait = Wait::Barrier;
  current_->barrier = id;
  current_->fiber.suspend();
}

void BlockScheduler::arrive(uint32_t id, uint32_t count) {
  arriveAt(barriers_[id % kBarriers], count, false);
}

uint32_t BlockScheduler::reduceBarrier(uint32_t id, uint32_t count, uint32_t reduction, bool predicate) {
  barrier(id, count, predicate);
  const Released &result = released_[id % kBarriers];
  if (reduction == R3CPU_REDUCE_COUNT)
    return result.count;
  return reduction == R3CPU_REDUCE_AND ? result.all : result.any;
}

bool BlockScheduler::resolveBarriers() {
  bool any = false;
  for (uint32_t id = 0; id < kBarriers; ++id)
    any |= resolveBarrier(id);
  return any;
}

// Expected threads are counted by whole warps: those that the last one lacks arrive with it.
bool BlockScheduler::resolveBarrier(uint32_t id) {
  Barrier &barrier = barriers_[id];
  uint32_t absent = barrier.last_warp ? warps_ * warp_size_ - count_ : 0;
  bool complete =
      barrier.expected ? barrier.arrived + absent >= barrier.expected : barrier.arrived >= count_ - ended_;
  if (barrier.arrived == 0 || !complete)
    return false;
  released_[id] = {barrier.count, barrier.all, barrier.any};
  barrier = {0, 0, false, 0, true, false};
  for (uint32_t i = 0; i < count_; ++i)
    if (threads_[i].wait == Wait::Barrier && threads_[i].barrier == id)
      threads_[i].wait = Wait::Ready;
  return true;
}

uint64_t BlockScheduler::warp(WarpOperation operation, uint32_t mask, uint32_t mode, uint64_t value,
                              uint32_t lane, uint32_t clamp) {
  uint32_t own = current_->index % R3CPU_WARP_SIZE;
  if (!(mask >> own & 1))
    abort(R3CPU_TRAP, "a thread calls a warp operation with a mask that does not hold its own lane");
  current_->request = {operation, mode, mask, value, lane, clamp, 0};
  current_->wait = Wait::Warp;
  current_->fiber.suspend();
  return current_->request.answer;
}

uint32_t BlockScheduler::liveLanes(uint32_t warp) const {
  uint32_t live = 0;
  uint32_t lanes = std::min(R3CPU_WARP_SIZE, count_ - warp * R3CPU_WARP_SIZE);
  for (uint32_t l = 0; l < lanes; ++l)
    if (lane(warp, l).wait != Wait::Ended)
      live |= 1u << l;
  return live;
}

bool BlockScheduler::resolveWarp(uint32_t warp) {
  bool any = false;
  uint32_t lanes = std::min(R3CPU_WARP_SIZE, count_ - warp * R3CPU_WARP_SIZE);
  for (uint32_t l = 0; l < lanes; ++l)
    if (lane(warp, l).wait == Wait::Warp)
      any |= resolveGroup(warp, l);
  return any;
}

// A group is complete when every live lane of its mask waits at the same operation with the same mask.
bool BlockScheduler::resolveGroup(uint32_t warp, uint32_t leader) {
  const Request &first = lane(warp, leader).request;
  uint32_t members = first.mask & liveLanes(warp);
  Request *requests[R3CPU_WARP_SIZE] = {};
  for (uint32_t l = 0; l < R3CPU_WARP_SIZE; ++l) {
    if (!(members >> l & 1))
      continue;
    Thread &thread = lane(warp, l);
    const Request &request = thread.request;
    if (thread.wait != Wait::Warp || request.operation != first.operation || request.mask != first.mask ||
        request.mode != first.mode)
      return false;
    requests[l] = &thread.request;
  }
  answerWarpRequests(requests, members);
  for (uint32_t l = 0; l < R3CPU_WARP_SIZE; ++l)
    if (members >> l & 1)
      lane(warp, l).wait = Wait::Ready;
  return true;
}

uint64_t BlockScheduler::wave(const WaveRequest &request) {
  current_->wave = request;
  current_->wait = Wait::Wave;
  current_->fiber.suspend();
  return current_->wave.answer;
}

// Nobody of the wave can run: the lanes at the earliest site go on, so that those who took a shorter way are
// caught up with.
bool BlockScheduler::resolveWave(uint32_t first, uint32_t last) {
  WaveRequest *requests[kLargestWave] = {};
  uint32_t site = UINT32_MAX;
  for (uint32_t i = first; i < last; ++i)
    if (threads_[i].wait == Wait::Wave)
      site = std::min(site, threads_[i].wave.site);
  if (site == UINT32_MAX)
    return false;
  for (uint32_t i = first; i < last; ++i)
    if (threads_[i].wait == Wait::Wave && threads_[i].wave.site == site) {
      requests[i - first] = &threads_[i].wave;
      threads_[i].wait = Wait::Ready;
    }
  answerWaveRequests(requests);
  return true;
}

uint32_t BlockScheduler::activeMask(uint32_t site) {
  current_->wait = Wait::ActiveMask;
  current_->barrier = site;
  current_->fiber.suspend();
  return static_cast<uint32_t>(current_->request.answer);
}

bool BlockScheduler::resolveActiveMasks() {
  bool any = false;
  for (uint32_t first = 0; first < count_; first += R3CPU_WARP_SIZE)
    any |= resolveActiveMask(first, std::min(first + R3CPU_WARP_SIZE, count_));
  return any;
}

// The lanes at the earliest call, as with wave operations.
bool BlockScheduler::resolveActiveMask(uint32_t first, uint32_t last) {
  uint32_t site = UINT32_MAX, mask = 0;
  for (uint32_t i = first; i < last; ++i)
    if (threads_[i].wait == Wait::ActiveMask)
      site = std::min(site, threads_[i].barrier);
  for (uint32_t i = first; i < last; ++i)
    if (threads_[i].wait == Wait::ActiveMask && threads_[i].barrier == site)
      mask |= 1u << (i - first);
  for (uint32_t i = first; i < last; ++i)
    if (mask >> (i - first) & 1) {
      threads_[i].request.answer = mask;
      threads_[i].wait = Wait::Ready;
    }
  return mask != 0;
}

void BlockScheduler::yield() { current_->fiber.suspend(); }

void BlockScheduler::exit() {
  current_->wait = Wait::Ended;
  ++ended_;
  current_->fiber.suspend();
  __builtin_unreachable();
}

// The block's other fibers are dropped where they stand: kernels own nothing that a destructor must give
// back.
void BlockScheduler::abort(r3cpu_status status, std::string message) {
  outcome_ = {status, std::move(message)};
  aborted_ = true;
  current_->fiber.suspend();
  __builtin_unreachable();
}

std::string BlockScheduler::deadlockMessage() const {
  uint32_t at_barrier = 0, at_warp = 0;
  const Thread *example = nullptr;
  for (uint32_t i = 0; i < count_; ++i) {
    at_barrier += threads_[i].wait == Wait::Barrier;
    at_warp += threads_[i].wait == Wait::Warp;
    if (!example && (threads_[i].wait == Wait::Barrier || threads_[i].wait == Wait::Warp))
      example = &threads_[i];
  }
  std::string text = "the threads of block (" + std::to_string(block_->block_id[0]) + ", " +
                     std::to_string(block_->block_id[1]) + ", " + std::to_string(block_->block_id[2]) +
                     ") wait for one another: " + std::to_string(at_barrier) + " at a barrier, " +
                     std::to_string(at_warp) + " at a warp operation, " + std::to_string(ended_) + " of " +
                     std::to_string(count_) + " have ended";
  if (example)
    text += "; thread (" + std::to_string(example->x) + ", " + std::to_string(example->y) + ", " +
            std::to_string(example->z) + ") is the first that waits";
  return text;
}

} // namespace r3::cpu
