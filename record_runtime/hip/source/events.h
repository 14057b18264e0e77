// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "calls.h"
#include "r3core/timer.h"

namespace r3::hip {

/// The runtime's events, as r3::Timer takes them. They belong to a device.
struct EventCalls {
  using Context = int;
  using Stream = void *;
  using Event = void *;
  struct Querying {};

  static bool create(void *&event) { return calls().hipEventCreate(&event) == Success; }
  static bool createUntimed(void *&event) {
    constexpr unsigned DisableTiming = 2;
    return calls().hipEventCreateWithFlags(&event, DisableTiming) == Success;
  }
  static void destroy(void *event) { calls().hipEventDestroy(event); }
  static bool record(void *event, void *stream) { return calls().hipEventRecord(event, stream) == Success; }
  static bool isReached(void *event) { return calls().hipEventQuery(event) == Success; }
  static bool elapsed(float &milliseconds, void *start, void *stop) {
    return calls().hipEventElapsedTime(&milliseconds, start, stop) == Success;
  }
};

using Timer = r3::Timer<EventCalls>;

} // namespace r3::hip
