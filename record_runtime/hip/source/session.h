// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_memory.h"
#include "events.h"
#include "registry.h"

#include "r3core/gate.h"
#include "r3core/recorder.h"
#include "r3core/synchronizer.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

namespace r3::hip {

/// A launch as the program asked for it.
struct LaunchRequest {
  const void *stub;
  Geometry geometry;
  void **arguments;
  void *stream;
  const char *refusal = nullptr; ///< why such a launch can't be recorded; null if it can
};

/// The recording in this process. Never destroyed: programs call the runtime from destructors of their own.
class Session {
public:
  /// Null where nothing is recorded, and for calls that the runtime or this library makes itself. It stays
  /// when the recording has ended, for what it gave out comes back.
  static Session *active();
  /// Writes what is outstanding; the process is about to end.
  static void finish();

  /// Launches by `call`, and counts, times or records it.
  Error launch(const LaunchRequest &request, const std::function<Error()> &call);
  Error launchGraph(void *stream, const std::function<Error()> &call);
  /// Calls what reads or writes the program's memory: not while a launch is being recorded.
  template <typename Call> Error pass(Call call) {
    Gate::Pass pass = gate_.pass();
    Inside inside;
    return call();
  }

  Registry &registry() { return registry_; }
  DeviceMemory &memory() { return memory_; }

  /// Which streams are being captured into graphs. Nothing of ours may get into a capture or break one.
  void captureBegan();
  void captureEnded() { --captures_; }
  bool isCapturing(void *stream) const;
  bool isCapturingAny() const { return captures_ > 0; }

  /// The current device forgets everything.
  void deviceReset();

private:
  Session();
  static Session *begin();
  static void drainTimes();
  static void finishAtOnce();
  Recorder &recorder();
  void describe(ProcessInfo &process);
  Error timed(void *stream, const Decision &decision, const std::function<Error()> &call);
  Error record(const LaunchRequest &request, Function &function, const Decision &decision,
               const std::function<Error()> &call);
  std::string makeIdle(Function &function);
  std::string locate(const Function &function, std::vector<GlobalVariable> &globals);
  std::string closeFor(Function &function, Gate::Closed &closed);

  const Settings settings_;
  Registry registry_;
  DeviceMemory memory_;
  Timer timer_;
  Gate gate_;
  Synchronizer synchronizer_;
  std::atomic<bool> captured_{false}; ///< a program that never captures pays nothing
  std::atomic<int> captures_{0};
  std::once_flag recorder_once_;
  std::unique_ptr<Recorder> recorder_;
  std::string device_, architecture_;
};

} // namespace r3::hip
