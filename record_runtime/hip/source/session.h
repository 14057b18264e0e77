// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_memory.h"
#include "registry.h"
#include "timer.h"

#include "r3core/recorder.h"

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <shared_mutex>

namespace r3::hip {

/// A launch as the program asked for it.
struct LaunchRequest {
  const void *stub;
  Geometry geometry;
  void **arguments;
  void *stream;
};

/// The recording in this process. Never destroyed: programs call the runtime from destructors of their own.
class Session {
public:
  /// Null where nothing is recorded, and for calls that the runtime or this library makes itself.
  static Session *active();
  static void finish();

  /// Launches by `call`, and counts, times or records it.
  Error launch(const LaunchRequest &request, const std::function<Error()> &call);
  /// Calls what reads or writes the program's memory: not while a launch is being recorded.
  template <typename Call> Error pass(Call call) {
    std::shared_lock lock(gate_);
    Inside inside;
    return call();
  }

  Registry &registry() { return registry_; }
  DeviceMemory &memory() { return memory_; }
  void captureBegan() { ++captures_; }
  void captureEnded() { --captures_; }

private:
  Session();
  Recorder &recorder();
  void describe(ProcessInfo &process);
  Error timed(const LaunchRequest &request, const Decision &decision, const std::function<Error()> &call);
  Error record(const LaunchRequest &request, const Function &function, const Decision &decision,
               const std::function<Error()> &call);
  std::vector<GlobalVariable> globalsOf(const Function &function);

  const Settings settings_;
  Registry registry_;
  DeviceMemory memory_;
  Timer timer_;
  std::shared_timed_mutex gate_; ///< exclusively held while a launch is recorded
  std::atomic<int> captures_{0}; ///< streams being captured into graphs
  std::once_flag recorder_once_;
  std::unique_ptr<Recorder> recorder_;
  std::string device_, architecture_;
};

} // namespace r3::hip
