// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "engine.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <sched.h>

namespace r3::cpu {

namespace {

// What swizzled copies of tensors ask for; nothing in CUDA asks for more.
constexpr size_t kSharedAlignment = 1024;
// Of a struct that a kernel takes by value.
constexpr size_t kArgumentAlignment = 128;

size_t alignShared(size_t size) {
  return (size + kSharedAlignment - 1) / kSharedAlignment * kSharedAlignment;
}

unsigned availableCores() {
  cpu_set_t cores;
  if (sched_getaffinity(0, sizeof cores, &cores) == 0)
    return static_cast<unsigned>(CPU_COUNT(&cores));
  return std::max(1u, std::thread::hardware_concurrency());
}

unsigned workerCount() {
  const char *text = std::getenv("R3_CPU_THREADS");
  if (text) {
    char *end = nullptr;
    long value = std::strtol(text, &end, 10);
    if (*end == '\0' && value >= 1 && value <= 4096)
      return static_cast<unsigned>(value);
    throw EngineError(R3CPU_BAD_LAUNCH,
                      std::string("R3_CPU_THREADS is '") + text + "': give a number from 1 to 4096");
  }
  return availableCores();
}

std::string demangled(const char *name) {
  int status = 0;
  char *text = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string result = status == 0 ? text : name;
  std::free(text);
  return result;
}

std::string text(r3cpu_dim3 d) {
  return "(" + std::to_string(d.x) + ", " + std::to_string(d.y) + ", " + std::to_string(d.z) + ")";
}

/// A launch's arguments where the kernel may read them by aligned vector instructions: callers pack them as
/// it comes.
class AlignedArguments {
public:
  explicit AlignedArguments(const Launch &launch) : place_(launch.arguments) {
    if (reinterpret_cast<uintptr_t>(place_) % kArgumentAlignment == 0)
      return;
    size_t space = launch.argument_size + kArgumentAlignment;
    copy_ = std::make_unique<unsigned char[]>(space);
    void *at = copy_.get();
    place_ = std::memcpy(std::align(kArgumentAlignment, launch.argument_size, at, space), launch.arguments,
                         launch.argument_size);
  }
  const void *get() const { return place_; }

private:
  std::unique_ptr<unsigned char[]> copy_;
  const void *place_;
};

[[noreturn]] void refuse(const Launch &launch, const std::string &why) {
  throw EngineError(R3CPU_BAD_LAUNCH,
                    "cannot launch kernel '" + demangled(launch.kernel->entry->name) + "': " + why);
}

void check(const Launch &launch) {
  const uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const uint32_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  uint64_t threads = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (grid[axis] == 0 || grid[axis] > kMaxGridExtent[axis])
      refuse(launch, "grid " + text(launch.grid) + " is not within (1, 1, 1) and (2147483647, 65535, 65535)");
    if (block[axis] == 0 || block[axis] > kMaxBlockExtent[axis])
      refuse(launch, "block " + text(launch.block) + " is not within (1, 1, 1) and (1024, 1024, 64)");
    threads *= block[axis];
  }
  const r3cpu_kernel_entry &entry = *launch.kernel->entry;
  uint32_t most = entry.max_threads ? entry.max_threads : kMaxThreadsPerBlock;
  if (threads > most)
    refuse(launch, "block " + text(launch.block) + " has " + std::to_string(threads) +
                       " threads, more than " + std::to_string(most));
  if (entry.static_shared + uint64_t(launch.shared) > kMaxSharedPerBlock)
    refuse(launch, std::to_string(entry.static_shared + uint64_t(launch.shared)) +
                       " bytes of shared memory are more than " + std::to_string(kMaxSharedPerBlock));
  if (launch.argument_size < launch.kernel->argumentSize())
    refuse(launch, "its argument buffer has " + std::to_string(launch.argument_size) +
                       " bytes, the kernel reads " + std::to_string(launch.kernel->argumentSize()));
}

} // namespace

Engine &Engine::instance() {
  // Never destroyed: kernels may still be launched by the program's own destructors.
  static Engine *engine = new Engine(workerCount());
  return *engine;
}

Engine::Engine(unsigned workers) : pool_(workers) {
  for (unsigned i = 0; i < pool_.workers(); ++i)
    states_.push_back(std::make_unique<Worker>());
}

uint64_t Engine::run(const Launch &asked) {
  check(asked);
  AlignedArguments arguments(asked);
  Launch launch = asked;
  launch.arguments = arguments.get();
  std::lock_guard lock(launch_mutex_);
  ++launches_;
  failure_ = {};
  uint64_t blocks = uint64_t(launch.grid.x) * launch.grid.y * launch.grid.z;
  for (unsigned i = 0; i < states_.size(); ++i)
    prepareState(launch, *states_[i], i);
  auto start = std::chrono::steady_clock::now();
  pool_.run(blocks, [&](unsigned worker, uint64_t first, uint64_t last) {
    return runBlocks(launch, worker, first, last);
  });
  auto time = std::chrono::steady_clock::now() - start;
  if (failure_.status != R3CPU_OK)
    throw EngineError(failure_.status,
                      "kernel '" + demangled(launch.kernel->entry->name) + "': " + failure_.message);
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(time).count());
}

template <typename T> static void put(unsigned char *place, T value) {
  std::memcpy(place, &value, sizeof value);
}

// LLVM's AMDGPUUsage, "Code Object V5 Kernel Argument Metadata" and "Kernel Dispatch": the fields that
// launches decide.
static void describeForAmd(const Launch &launch, BlockState &state) {
  const uint32_t grid[3] = {launch.grid.x, launch.grid.y, launch.grid.z};
  const uint32_t block[3] = {launch.block.x, launch.block.y, launch.block.z};
  unsigned char *hidden = state.implicit_arguments, *packet = state.dispatch_packet;
  std::memset(hidden, 0, sizeof state.implicit_arguments);
  std::memset(packet, 0, sizeof state.dispatch_packet);
  for (size_t axis = 0; axis < 3; ++axis) {
    put(hidden + 4 * axis, grid[axis]);
    put(hidden + 12 + 2 * axis, static_cast<uint16_t>(block[axis]));
    put(packet + 4 + 2 * axis, static_cast<uint16_t>(block[axis]));
    put(packet + 12 + 4 * axis, grid[axis] * block[axis]);
  }
  put(hidden + 64, static_cast<uint16_t>(grid[2] * block[2] > 1 ? 3 : grid[1] * block[1] > 1 ? 2 : 1));
  put(hidden + 120, launch.shared);
  put(packet + 28, launch.kernel->entry->static_shared + launch.shared);
}

void Engine::prepareState(const Launch &launch, Worker &worker, unsigned index) {
  const r3cpu_kernel_entry &entry = *launch.kernel->entry;
  size_t static_size = alignShared(entry.static_shared);
  worker.shared.resize(std::max(worker.shared.size(), static_size + launch.shared + 2 * kSharedAlignment));
  auto base = alignShared(reinterpret_cast<size_t>(worker.shared.data()));
  if (entry.form == R3CPU_FORM_FIBER)
    worker.scheduler.reserve(launch.block.x * launch.block.y * launch.block.z);
  BlockState &state = worker.state;
  state.scheduler = &worker.scheduler;
  state.loop = entry.form == R3CPU_FORM_LOOP;
  state.outcome = {};
  state.block = {{launch.grid.x, launch.grid.y, launch.grid.z},
                 {launch.block.x, launch.block.y, launch.block.z},
                 {0, 0, 0},
                 launch.shared,
                 reinterpret_cast<unsigned char *>(base),
                 reinterpret_cast<unsigned char *>(base + static_size),
                 entry.static_shared,
                 index,
                 launches_,
                 state.implicit_arguments,
                 state.dispatch_packet};
  describeForAmd(launch, state);
}

bool Engine::runBlocks(const Launch &launch, unsigned worker, uint64_t first, uint64_t last) {
  BlockState &state = states_[worker]->state;
  for (uint64_t i = first; i < last; ++i) {
    state.block.block_id[0] = static_cast<uint32_t>(i % launch.grid.x);
    state.block.block_id[1] = static_cast<uint32_t>(i / launch.grid.x % launch.grid.y);
    state.block.block_id[2] = static_cast<uint32_t>(i / launch.grid.x / launch.grid.y);
    runBlock(launch, state);
    if (state.outcome.status != R3CPU_OK) {
      fail(state.outcome);
      return false;
    }
  }
  return true;
}

void Engine::runBlock(const Launch &launch, BlockState &state) {
  if (state.loop) {
    runLoopBlock(launch, state);
    return;
  }
  auto entry = reinterpret_cast<BlockScheduler::KernelEntry>(launch.kernel->entry->entry);
  state.outcome = state.scheduler->run(entry, &state.block, launch.arguments, launch.kernel->entry->wave);
}

void Engine::runLoopBlock(const Launch &launch, BlockState &state) {
  using LoopEntry = void (*)(r3cpu_block *, const void *);
  auto entry = reinterpret_cast<LoopEntry>(launch.kernel->entry->entry);
  if (setjmp(state.end_of_loop) == 0)
    entry(&state.block, launch.arguments);
}

void Engine::fail(const BlockOutcome &outcome) {
  std::lock_guard lock(failure_mutex_);
  if (failure_.status == R3CPU_OK)
    failure_ = outcome;
}

} // namespace r3::cpu
