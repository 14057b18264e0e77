// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What lowered kernels call (module_abi.h).
#include "engine.h"
#include "kernel_printf.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#define R3CPU_EXPORT extern "C" __attribute__((visibility("default")))

using namespace r3::cpu;

static BlockState &stateOf(r3cpu_block *block) { return *reinterpret_cast<BlockState *>(block); }
static BlockScheduler &schedulerOf(r3cpu_block *block) { return *stateOf(block).scheduler; }

R3CPU_EXPORT void r3cpu_barrier(r3cpu_block *block, uint32_t id, uint32_t count) {
  schedulerOf(block).barrier(id, count, false);
}

R3CPU_EXPORT void r3cpu_barrier_arrive(r3cpu_block *block, uint32_t id, uint32_t count) {
  schedulerOf(block).arrive(id, count);
}

R3CPU_EXPORT uint32_t r3cpu_barrier_reduce(r3cpu_block *block, uint32_t id, uint32_t count,
                                           uint32_t reduction, uint32_t predicate) {
  return schedulerOf(block).reduceBarrier(id, count, reduction, predicate != 0);
}

R3CPU_EXPORT void r3cpu_warp_sync(r3cpu_block *block, uint32_t mask) {
  schedulerOf(block).warp(WarpOperation::Sync, mask, 0, 0);
}

R3CPU_EXPORT uint32_t r3cpu_active_mask(r3cpu_block *block, uint32_t site) {
  return schedulerOf(block).activeMask(site);
}

R3CPU_EXPORT uint64_t r3cpu_shuffle(r3cpu_block *block, uint32_t mask, uint32_t mode, uint32_t value,
                                    uint32_t lane, uint32_t clamp) {
  return schedulerOf(block).warp(WarpOperation::Shuffle, mask, mode, value, lane, clamp);
}

R3CPU_EXPORT uint32_t r3cpu_vote(r3cpu_block *block, uint32_t mask, uint32_t mode, uint32_t predicate) {
  return static_cast<uint32_t>(schedulerOf(block).warp(WarpOperation::Vote, mask, mode, predicate));
}

R3CPU_EXPORT uint32_t r3cpu_match_any(r3cpu_block *block, uint32_t mask, uint64_t value) {
  return static_cast<uint32_t>(schedulerOf(block).warp(WarpOperation::MatchAny, mask, 0, value));
}

R3CPU_EXPORT uint64_t r3cpu_match_all(r3cpu_block *block, uint32_t mask, uint64_t value) {
  return schedulerOf(block).warp(WarpOperation::MatchAll, mask, 0, value);
}

R3CPU_EXPORT uint32_t r3cpu_warp_reduce(r3cpu_block *block, uint32_t mask, uint32_t reduction,
                                        uint32_t value) {
  return static_cast<uint32_t>(schedulerOf(block).warp(WarpOperation::Reduce, mask, reduction, value));
}

R3CPU_EXPORT uint64_t r3cpu_wave(r3cpu_block *block, uint32_t site, uint32_t operation, uint64_t value,
                                 uint32_t lane, uint64_t fallback) {
  return schedulerOf(block).wave({site, operation, value, lane, fallback, 0});
}

R3CPU_EXPORT void r3cpu_exit(r3cpu_block *block) { schedulerOf(block).exit(); }

R3CPU_EXPORT void r3cpu_yield(r3cpu_block *block) { schedulerOf(block).yield(); }

R3CPU_EXPORT uint64_t r3cpu_clock(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

R3CPU_EXPORT uint64_t r3cpu_globaltimer(void) {
  auto now = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

R3CPU_EXPORT uint64_t r3cpu_message_begin(void) { return reinterpret_cast<uint64_t>(new KernelMessage); }

static uint64_t continueMessage(KernelMessage *message, uint32_t is_last) {
  if (!is_last)
    return reinterpret_cast<uint64_t>(message);
  auto count = static_cast<uint64_t>(message->print());
  delete message;
  return count;
}

R3CPU_EXPORT uint64_t r3cpu_message_text(uint64_t message, const char *text, uint64_t size,
                                         uint32_t is_last) {
  auto *own = reinterpret_cast<KernelMessage *>(message);
  own->addText(text, size);
  return continueMessage(own, is_last);
}

R3CPU_EXPORT uint64_t r3cpu_message_words(uint64_t message, uint32_t count, uint64_t a, uint64_t b,
                                          uint64_t c, uint64_t d, uint64_t e, uint64_t f, uint64_t g,
                                          uint32_t is_last) {
  const uint64_t words[] = {a, b, c, d, e, f, g};
  auto *own = reinterpret_cast<KernelMessage *>(message);
  own->addWords(words, std::min<size_t>(count, std::size(words)));
  return continueMessage(own, is_last);
}

R3CPU_EXPORT int32_t r3cpu_vprintf(const char *format, const void *arguments) {
  return printFromKernel(format, arguments);
}

// Ends the whole block. Kernels have no destructors that would have to run.
[[noreturn]] static void endBlock(r3cpu_block *block, r3cpu_status status, std::string message) {
  BlockState &state = stateOf(block);
  if (!state.loop)
    state.scheduler->abort(status, std::move(message));
  state.outcome = {status, std::move(message)};
  std::longjmp(state.end_of_loop, 1);
}

R3CPU_EXPORT void r3cpu_assert_fail(r3cpu_block *block, const char *message, const char *file, uint32_t line,
                                    const char *function) {
  endBlock(block, R3CPU_ASSERT,
           std::string(file) + ":" + std::to_string(line) + ": " + function + ": assertion '" + message +
               "' failed");
}

R3CPU_EXPORT void r3cpu_trap(r3cpu_block *block) {
  endBlock(block, R3CPU_TRAP, "it executed a trap instruction");
}

R3CPU_EXPORT void r3cpu_unsupported(r3cpu_block *block, const char *sentence) {
  endBlock(block, R3CPU_UNSUPPORTED, sentence);
}
