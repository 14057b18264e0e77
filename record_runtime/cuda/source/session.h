// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "captures.h"
#include "device_memory.h"
#include "events.h"
#include "images.h"
#include "r3core/gate.h"
#include "r3core/recorder.h"
#include "r3core/synchronizer.h"
#include "stream_hold.h"
#include "targets.h"
#include "texture_handles.h"

#include <atomic>
#include <memory>

namespace r3::cuda {

/// What a launch call asks of the driver.
struct LaunchRequest {
  CUfunction function;
  Geometry geometry;
  CUstream stream;
  void **parameters;
  void **extra;
  const char *refusal; ///< why such a launch can't be recorded; null if it can
};

/// The driver's own call, made when the recorder is ready for it.
class RealCall {
public:
  template <typename Callable>
  explicit RealCall(Callable &callable)
      : object(&callable), invoke([](void *to) { return (*static_cast<Callable *>(to))(); }) {}
  CUresult operator()() const { return invoke(object); }

private:
  void *object;
  CUresult (*invoke)(void *);
};

/// The recording of this process.
class Session {
public:
  /// Whether `r3 record` started this process.
  static bool wanted();
  /// Null when nothing is to be recorded: then every call passes through. It stays when the recording has
  /// ended, for what it gave out comes back.
  static Session *active();
  /// Writes what is outstanding; the process is about to end.
  static void finish();
  /// The same where no exit handler has run before.
  static void finishAtOnce();

  CUresult launch(const LaunchRequest &request, RealCall call);
  CUresult launchGraph(CUstream stream, RealCall call);
  /// A context may be about to go, and its events with it.
  void collectTimes();
  /// Handles of this context mean nothing any more.
  void contextGone(CUcontext context);
  /// Call before frees and copies.
  Gate::Pass pass() { return gate.pass(); }

  DeviceMemory memory;
  Images images;
  Captures captures;
  TextureHandles textures;
  Targets targets;

private:
  explicit Session(const Settings &settings);
  Recorder &recorder();
  CUresult record(const LaunchRequest &request, RealCall call, Target &target, CUcontext context,
                  const Decision &decision);
  void loadOnce(Target &target, CUfunction function);
  CUresult timed(CUcontext context, CUstream stream, const Decision &decision, RealCall call);
  std::string makeIdle(Target &target, CUcontext context);

  const Settings settings;
  Gate gate;
  Timer timer;
  Synchronizer synchronizer;
  StreamHold hold;
  std::once_flag recorderOnce;
  std::unique_ptr<Recorder> theRecorder;
  std::atomic<Recorder *> ready{nullptr}; ///< theRecorder, once it can be used
  std::atomic<Kernel *> graphKernel{nullptr};

  friend class Lifetime;
};

/// One call of the application into the driver. Calls that the driver makes to itself see no session.
class Call {
public:
  Call() : session(depth++ ? nullptr : Session::active()) {}
  ~Call() { --depth; }
  Call(const Call &) = delete;
  Session *const session;

private:
  static thread_local int depth __attribute__((tls_model("initial-exec")));
};

} // namespace r3::cuda
