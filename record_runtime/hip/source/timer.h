// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "calls.h"

#include "r3core/recorder.h"

#include <deque>
#include <mutex>
#include <optional>

namespace r3::hip {

/// Two events around a launch.
struct EventPair {
  void *begin;
  void *end;
};

/// Device times of launches, taken when they are there.
class Timer {
public:
  std::optional<EventPair> begin(void *stream);
  void end(const EventPair &events, void *stream, const Decision &decision);
  /// Nanoseconds between two events that were reached; 0 if they can't be had.
  static std::uint64_t elapsed(const EventPair &events);
  /// Hands over the times of launches that are done.
  void collect(Recorder &recorder);

private:
  struct Pending {
    EventPair events;
    Decision decision;
  };
  std::mutex mutex_;
  std::deque<Pending> pending_;
};

} // namespace r3::hip
