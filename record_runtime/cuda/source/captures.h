// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"

#include <atomic>

namespace r3::cuda {

/// Which streams are being captured into graphs. Nothing of ours may get into a capture or break one.
class Captures {
public:
  void begun() {
    ever = true;
    ++active;
  }
  void ended() { --active; }
  bool anyActive() const { return active > 0; }

  /// Costs nothing in a program that never captures.
  bool isCapturing(CUstream stream) const {
    if (!ever)
      return false;
    CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
    return driver().cuStreamIsCapturing(stream, &status) != CUDA_SUCCESS ||
           status != CU_STREAM_CAPTURE_STATUS_NONE;
  }

private:
  std::atomic<bool> ever{false};
  std::atomic<int> active{0};
};

/// Within it, this thread's queries of events can't invalidate a capture that is under way.
class RelaxedCapture {
public:
  RelaxedCapture() {
    if (driver().cuThreadExchangeStreamCaptureMode)
      exchanged = driver().cuThreadExchangeStreamCaptureMode(&mode) == CUDA_SUCCESS;
  }
  ~RelaxedCapture() {
    if (exchanged)
      driver().cuThreadExchangeStreamCaptureMode(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;

private:
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  bool exchanged = false;
};

} // namespace r3::cuda
