// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "stream_hold.h"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <thread>

using namespace r3::cuda;

namespace {

/// Queueing takes some ten microseconds, and more on a busy host; what takes this long waits for the device.
constexpr auto LongestHold = std::chrono::milliseconds(100);
/// A tool that makes every launch wait must not cost this much each time.
constexpr int MostCutShort = 8;

/// CUDA_LAUNCH_BLOCKING=1: every launch waits for its end.
bool launchesBlock() {
  const char *value = std::getenv("CUDA_LAUNCH_BLOCKING");
  return value && *value && std::strcmp(value, "0") != 0;
}

} // namespace

bool StreamHold::begin(CUcontext context, CUstream stream) {
  std::unique_lock lock(mutex);
  if (!possible || inForce || cutShort >= MostCutShort || (!running && !start()))
    return false;
  Word &word = wordOf(context);
  if (!word.host)
    return false;
  ++word.ticket;
  inForce = word; // from here on the thread is on guard: the next call may be the one that waits
  ++number;
  began.notify_all();
  lock.unlock();
  CUresult result =
      driver().cuStreamWaitValue32_v2(stream, word.device, word.ticket, CU_STREAM_WAIT_VALUE_GEQ);
  if (result == CUDA_SUCCESS)
    return true;
  end();
  lock.lock();
  possible = false;
  return false;
}

bool StreamHold::end() {
  std::lock_guard lock(mutex);
  if (!inForce)
    return false;
  letGo(*inForce);
  inForce.reset();
  return true;
}

void StreamHold::forget(CUcontext context) {
  std::lock_guard lock(mutex);
  words.erase(context);
}

StreamHold::Word &StreamHold::wordOf(CUcontext context) {
  auto [entry, isNew] = words.try_emplace(context);
  Word &word = entry->second;
  void *memory = nullptr;
  if (!isNew ||
      driver().cuMemHostAlloc(&memory, sizeof(std::uint32_t), CU_MEMHOSTALLOC_DEVICEMAP) != CUDA_SUCCESS)
    return word;
  *static_cast<std::uint32_t *>(memory) = 0;
  if (driver().cuMemHostGetDevicePointer_v2(&word.device, memory, 0) == CUDA_SUCCESS)
    word.host = static_cast<std::uint32_t *>(memory);
  return word;
}

bool StreamHold::start() {
  possible = driver().cuStreamWaitValue32_v2 && driver().cuMemHostGetDevicePointer_v2 && !launchesBlock();
  if (!possible)
    return false;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  try {
    std::thread([this] { watch(); }).detach();
    running = true;
  } catch (const std::system_error &) {
    possible = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running;
}

void StreamHold::watch() {
  std::unique_lock lock(mutex);
  for (std::uint64_t seen = 0;;) {
    began.wait(lock, [&] { return inForce && number != seen; });
    seen = number;
    auto deadline = std::chrono::steady_clock::now() + LongestHold;
    while (inForce && number == seen && began.wait_until(lock, deadline) != std::cv_status::timeout)
      ;
    if (!inForce || number != seen)
      continue;
    letGo(*inForce);
    inForce.reset();
    ++cutShort;
  }
}

void StreamHold::letGo(const Word &word) { __atomic_store_n(word.host, word.ticket, __ATOMIC_RELEASE); }
