// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timer.h"
#include "captures.h"

#include <algorithm>
#include <cmath>

using namespace r3;
using namespace r3::cuda;

namespace {

constexpr std::size_t Batch = 64;
constexpr std::size_t MaximumPending = 4096;

} // namespace

std::optional<Timer::Events> Timer::begin(CUcontext context, CUstream stream) {
  Events events{context, nullptr, nullptr};
  {
    std::lock_guard lock(mutex);
    if (pending.size() >= MaximumPending)
      return std::nullopt;
    auto &spare = pool[context];
    if (!spare.empty()) {
      events = spare.back();
      spare.pop_back();
    }
  }
  if (!events.start && (driver().cuEventCreate(&events.start, CU_EVENT_DEFAULT) != CUDA_SUCCESS ||
                        driver().cuEventCreate(&events.stop, CU_EVENT_DEFAULT) != CUDA_SUCCESS))
    return std::nullopt;
  if (driver().cuEventRecord(events.start, stream) == CUDA_SUCCESS)
    return events;
  recycle(events);
  return std::nullopt;
}

void Timer::prepare(CUcontext context, CUstream stream) {
  if (auto events = begin(context, stream))
    recycle(*events);
}

void Timer::end(const Events &events, CUstream stream, const Decision &decision, Recorder &recorder) {
  if (driver().cuEventRecord(events.stop, stream) != CUDA_SUCCESS)
    return recycle(events);
  bool full;
  {
    std::lock_guard lock(mutex);
    pending.push_back({events, decision});
    full = pending.size() % Batch == 0;
  }
  if (full)
    collect(recorder);
}

std::uint64_t Timer::elapsed(const Events &events) {
  float milliseconds = 0;
  if (!driver().cuEventElapsedTime ||
      driver().cuEventElapsedTime(&milliseconds, events.start, events.stop) != CUDA_SUCCESS)
    return 0;
  return std::uint64_t(std::llround(double(milliseconds) * 1e6));
}

void Timer::recycle(const Events &events) {
  std::lock_guard lock(mutex);
  pool[events.context].push_back(events);
}

bool Timer::collect(Recorder &recorder) {
  RelaxedCapture relaxed;
  std::vector<Pending> over;
  bool outstanding;
  {
    std::lock_guard lock(mutex);
    // Oldest first; a stream that lags must not hide the others' times for ever.
    std::size_t unready = 0;
    for (auto entry = pending.begin(); entry != pending.end() && unready < 16;) {
      if (driver().cuEventQuery(entry->events.stop) == CUDA_SUCCESS) {
        over.push_back(*entry);
        entry = pending.erase(entry);
      } else {
        ++unready;
        ++entry;
      }
    }
    outstanding = !pending.empty();
  }
  for (const Pending &launch : over) {
    if (std::uint64_t time = elapsed(launch.events))
      recorder.timed(launch.decision, time);
    recycle(launch.events);
  }
  return outstanding;
}

void Timer::forget(CUcontext context) {
  std::lock_guard lock(mutex);
  pool.erase(context);
  pending.erase(std::remove_if(pending.begin(), pending.end(),
                               [&](const Pending &launch) { return launch.events.context == context; }),
                pending.end());
}
