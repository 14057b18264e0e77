// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace r3::cuda {

/// Waits for a context to be idle, but not for ever: a kernel may itself wait for the host.
class Synchronizer {
public:
  enum class Outcome { Idle, Failed, TimedOut };
  Outcome wait(CUcontext context, std::chrono::milliseconds deadline);

private:
  void work();
  bool startThread();

  std::mutex mutex; // of all below
  std::condition_variable asked, answered;
  bool running = false; // the thread
  bool busy = false;    // with a request, perhaps one that nobody waits for any more
  CUcontext wanted = nullptr;
  CUresult result = CUDA_SUCCESS;
};

} // namespace r3::cuda
