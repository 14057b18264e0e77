// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>

namespace r3 {

/// Waits for a device to be idle, but not for ever: a kernel may itself wait for the host. The device's own
/// wait has no deadline, so a thread of this class makes it.
class Synchronizer {
public:
  enum class Outcome { Idle, Failed, TimedOut };
  /// `synchronize` waits for the device and says whether that went well. It may be running long after this
  /// returned.
  Outcome wait(std::function<bool()> synchronize, std::chrono::milliseconds deadline);

private:
  void work();
  bool startThread();

  std::mutex mutex; // of all below
  std::condition_variable asked, answered;
  bool running = false; // the thread
  bool busy = false;    // with a request, perhaps one that nobody waits for any more
  std::function<bool()> wanted;
  bool wentWell = false;
};

} // namespace r3
