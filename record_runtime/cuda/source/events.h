// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "captures.h"
#include "r3core/timer.h"

namespace r3::cuda {

/// The driver's events, as r3::Timer takes them.
struct EventCalls {
  using Context = CUcontext;
  using Stream = CUstream;
  using Event = CUevent;
  using Querying = RelaxedCapture;

  static bool create(CUevent &event) {
    return driver().cuEventCreate(&event, CU_EVENT_DEFAULT) == CUDA_SUCCESS;
  }
  static bool createUntimed(CUevent &event) {
    return driver().cuEventCreate(&event, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
  }
  static void destroy(CUevent event) { driver().cuEventDestroy_v2(event); }
  static bool record(CUevent event, CUstream stream) {
    return driver().cuEventRecord(event, stream) == CUDA_SUCCESS;
  }
  static bool isReached(CUevent event) { return driver().cuEventQuery(event) == CUDA_SUCCESS; }
  static bool elapsed(float &milliseconds, CUevent start, CUevent stop) {
    return driver().cuEventElapsedTime &&
           driver().cuEventElapsedTime(&milliseconds, start, stop) == CUDA_SUCCESS;
  }
};

using Timer = r3::Timer<EventCalls>;

} // namespace r3::cuda
