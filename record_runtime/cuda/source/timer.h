// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"
#include "r3core/recorder.h"

#include <deque>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

namespace r3::cuda {

/// Takes device times of launches by events, which are read later, in batches; it never waits.
class Timer {
public:
  struct Events {
    CUcontext context;
    CUevent start, stop;
  };

  /// Nothing when too many times are outstanding, or the stream takes no event.
  std::optional<Events> begin(CUcontext context, CUstream stream);
  /// Makes what begin() needs, so that begin() itself takes no time.
  void prepare(CUcontext context, CUstream stream);
  /// The time is handed to `recorder` once it is known.
  void end(const Events &events, CUstream stream, const Decision &decision, Recorder &recorder);
  /// For a launch that is known to be over: its time in nanoseconds, 0 if unknown.
  std::uint64_t elapsed(const Events &events);
  void recycle(const Events &events);
  /// Reads the times that are known. Says whether some are outstanding.
  bool collect(Recorder &recorder);
  /// A context is going away, and its events with it.
  void forget(CUcontext context);

private:
  struct Pending {
    Events events;
    Decision decision;
  };

  std::mutex mutex;
  std::unordered_map<CUcontext, std::vector<Events>> pool;
  std::deque<Pending> pending;
};

} // namespace r3::cuda
