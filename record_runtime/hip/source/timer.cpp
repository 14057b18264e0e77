// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "timer.h"

namespace r3::hip {

std::optional<EventPair> Timer::begin(void *stream) {
  EventPair events{};
  if (calls().hipEventCreate(&events.begin) != Success)
    return std::nullopt;
  if (calls().hipEventCreate(&events.end) != Success) {
    calls().hipEventDestroy(events.begin);
    return std::nullopt;
  }
  calls().hipEventRecord(events.begin, stream);
  return events;
}

void Timer::end(const EventPair &events, void *stream, const Decision &decision) {
  calls().hipEventRecord(events.end, stream);
  std::lock_guard lock(mutex_);
  pending_.push_back({events, decision});
}

std::uint64_t Timer::elapsed(const EventPair &events) {
  float milliseconds = 0;
  if (calls().hipEventElapsedTime(&milliseconds, events.begin, events.end) != Success)
    return 0;
  return static_cast<std::uint64_t>(static_cast<double>(milliseconds) * 1e6);
}

void Timer::collect(Recorder &recorder) {
  std::lock_guard lock(mutex_);
  while (!pending_.empty() && calls().hipEventQuery(pending_.front().events.end) == Success) {
    Pending &first = pending_.front();
    if (std::uint64_t time = elapsed(first.events))
      recorder.timed(first.decision, time);
    calls().hipEventDestroy(first.events.begin);
    calls().hipEventDestroy(first.events.end);
    pending_.pop_front();
  }
}

} // namespace r3::hip
