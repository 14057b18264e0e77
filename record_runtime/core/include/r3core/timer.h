// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

namespace r3 {

/// Takes device times of launches by events, which are read later, in batches; it never waits.
///
/// `Api` is a device's events: types Context (what an event belongs to), Stream and Event (null without one);
/// static members create(Event &), record(Event, Stream), isReached(Event) and elapsed(float &milliseconds,
/// Event, Event), each of which says whether it went well; and Querying, a scope in which isReached()
/// disturbs nothing.
template <typename Api> class Timer {
public:
  using Context = typename Api::Context;
  using Stream = typename Api::Stream;
  using Event = typename Api::Event;

  struct Events {
    Context context;
    Event start, stop;
  };

  /// Nothing when too many times are outstanding, or the stream takes no event.
  std::optional<Events> begin(Context context, Stream stream) {
    Events events{context, {}, {}};
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
    if (!events.start && !(Api::create(events.start) && Api::create(events.stop)))
      return std::nullopt;
    if (Api::record(events.start, stream))
      return events;
    recycle(events);
    return std::nullopt;
  }

  /// Makes what begin() needs, so that begin() itself takes no time.
  void prepare(Context context, Stream stream) {
    if (auto events = begin(context, stream))
      recycle(*events);
  }

  /// The time is handed to `recorder` once it is known.
  void end(const Events &events, Stream stream, const Decision &decision, Recorder &recorder) {
    if (!Api::record(events.stop, stream))
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

  /// For a launch that is known to be over: its time in nanoseconds, 0 if unknown.
  static std::uint64_t elapsed(const Events &events) {
    float milliseconds = 0;
    if (!Api::elapsed(milliseconds, events.start, events.stop))
      return 0;
    return std::uint64_t(std::llround(double(milliseconds) * 1e6));
  }

  void recycle(const Events &events) {
    std::lock_guard lock(mutex);
    pool[events.context].push_back(events);
  }

  /// Reads the times that are known. Says whether some are outstanding.
  bool collect(Recorder &recorder) {
    [[maybe_unused]] typename Api::Querying undisturbed;
    std::vector<Pending> over;
    bool outstanding;
    {
      std::lock_guard lock(mutex);
      // Oldest first; a stream that lags must not hide the others' times for ever.
      std::size_t unready = 0;
      for (auto entry = pending.begin(); entry != pending.end() && unready < 16;) {
        if (Api::isReached(entry->events.stop)) {
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

  /// Launches at the very end of a run count, too; but a kernel that never ends must not hold up the exit.
  void drain(Recorder &recorder) {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (collect(recorder) && std::chrono::steady_clock::now() < deadline)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  /// A context is going away, and its events with it.
  void forget(Context context) {
    std::lock_guard lock(mutex);
    pool.erase(context);
    pending.erase(std::remove_if(pending.begin(), pending.end(),
                                 [&](const Pending &launch) { return launch.events.context == context; }),
                  pending.end());
  }

private:
  static constexpr std::size_t Batch = 64;
  static constexpr std::size_t MaximumPending = 4096;

  struct Pending {
    Events events;
    Decision decision;
  };

  std::mutex mutex;
  std::unordered_map<Context, std::vector<Events>> pool;
  std::deque<Pending> pending;
};

} // namespace r3
