// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <mutex>
#include <shared_mutex>

namespace r3 {

/// Launches, copies and frees pass through it together; a snapshot holds all of them back.
class Gate {
public:
  using Pass = std::shared_lock<std::shared_timed_mutex>;
  using Closed = std::unique_lock<std::shared_timed_mutex>;

  Pass pass() { return Pass(mutex); }
  /// Owns nothing if a call that is under way doesn't return in time.
  Closed close(std::chrono::milliseconds deadline) { return Closed(mutex, deadline); }

private:
  std::shared_timed_mutex mutex;
};

} // namespace r3
