// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

namespace r3::cuda {

/// Stops a stream while a launch and its events are queued, so that the time between the events is the
/// kernel's alone. The stream waits for a word in host memory.
///
/// It can't hang the application: should queueing take long (the launch itself may wait for the device), a
/// thread that calls no driver lets the stream go. One hold at a time: the gate is closed.
class StreamHold {
public:
  /// Whether the stream is held now; false where the driver can't, or launches here have waited too often.
  bool begin(CUcontext context, CUstream stream);
  /// Lets the stream go. Says whether it was held until now.
  bool end();
  /// A context is gone, and its host memory with it.
  void forget(CUcontext context);

private:
  struct Word {
    std::uint32_t *host = nullptr; ///< null: the context has none to give
    CUdeviceptr device = 0;
    std::uint32_t ticket = 0;
  };

  Word &wordOf(CUcontext context);
  bool start();
  void watch();
  static void letGo(const Word &word);

  std::mutex mutex; // of all below
  std::condition_variable began;
  bool running = false;        // the thread
  bool possible = true;        // the driver offers it, and launches don't wait by themselves
  int cutShort = 0;            // holds that the thread ended
  std::optional<Word> inForce; // of the hold
  std::uint64_t number = 0;    // of the hold
  std::unordered_map<CUcontext, Word> words;
};

/// A hold that ends with its scope.
class Held {
public:
  Held(StreamHold &hold, CUcontext context, CUstream stream)
      : hold(hold), held(hold.begin(context, stream)) {}
  ~Held() { end(); }
  Held(const Held &) = delete;
  /// False if the stream was let go before everything was queued. Without a hold nothing went wrong: true.
  bool end() { return !held || (held = false, hold.end()); }

private:
  StreamHold &hold;
  bool held;
};

} // namespace r3::cuda
