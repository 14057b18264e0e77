// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"
#include "r3core/log.h"
#include "r3core/termination.h"

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

using namespace r3;
using namespace r3::cuda;

thread_local int Call::depth = 0;

namespace r3::cuda {

/// When the session begins and ends. Nothing here is ever destroyed: applications call the driver from
/// destructors of their own.
class Lifetime {
public:
  static Session *create();
  static void finish();
  static void drainAtExit();
  static void detachChild();

  static std::atomic<Session *> session;
  static std::atomic<bool> detached; ///< in a forked child
  static pid_t process;
};

std::atomic<Session *> Lifetime::session{nullptr};
std::atomic<bool> Lifetime::detached{false};
pid_t Lifetime::process = 0;

Session *Lifetime::create() {
  static std::once_flag once;
  std::call_once(once, [] {
    process = getpid();
    auto *created = new Session(settingsFromEnvironment());
    pthread_atfork(nullptr, nullptr, detachChild);
    finishBeforeSignals(Session::finishAtOnce);
    std::atexit(drainAtExit); // after the driver's own handler was registered, so it runs before
    session.store(created, std::memory_order_release);
  });
  return session.load(std::memory_order_acquire);
}

/// A forked child has no writer threads, and must not write to its parent's pack.
void Lifetime::detachChild() {
  detached = true;
  leaveSignalsAlone();
  if (Session *inherited = session.load())
    if (inherited->theRecorder)
      inherited->theRecorder->detachAfterFork();
}

void Lifetime::drainAtExit() {
  Session *current = session.load();
  if (current && current->theRecorder && getpid() == process)
    current->timer.drain(*current->theRecorder);
}

void Lifetime::finish() {
  Session *current = session.load();
  // A child of vfork shares this memory and must leave it alone.
  if (!current || getpid() != process)
    return;
  static std::mutex once; // whoever comes second waits: the process ends when it returns
  std::lock_guard lock(once);
  if (current->theRecorder)
    current->theRecorder->finish();
}

} // namespace r3::cuda

bool Session::wanted() {
  static const bool set = [] {
    const char *directory = std::getenv("R3_RECORD_DIR");
    return directory && *directory;
  }();
  return set;
}

Session *Session::active() {
  if (Lifetime::detached.load(std::memory_order_relaxed) || !wanted())
    return nullptr;
  Session *current = Lifetime::session.load(std::memory_order_acquire);
  return current ? current : Lifetime::create();
}

void Session::finish() { Lifetime::finish(); }

void Session::finishAtOnce() {
  Lifetime::drainAtExit();
  Lifetime::finish();
}

Session::Session(const Settings &settings)
    : memory(settings), images(settings.foreign ? Images::Keep::ForeignCode : Images::Keep::Notes),
      targets(images, memory), settings(settings) {}

namespace {

ProcessInfo describeProcess(const Settings &settings) {
  ProcessInfo process;
  CUdevice device = 0;
  driver().cuCtxGetDevice(&device);
  process.device = "cuda:" + std::to_string(device);
  char name[256] = "";
  driver().cuDeviceGetName(name, sizeof(name), device);
  process.deviceName = name;
  int major = 0, minor = 0, version = 0;
  driver().cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, device);
  driver().cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, device);
  process.architecture = "sm_" + std::to_string(major) + std::to_string(minor);
  driver().cuDriverGetVersion(&version);
  process.driver = "CUDA " + std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
  process.arenaBase = settings.arenaBase + std::uint64_t(device) * settings.arenaSize;
  process.arenaSize = settings.arenaSize;
  return process;
}

/// The buffer that stands in for single arguments; nothing if the launch has none that can be read.
Arguments bufferOf(const LaunchRequest &request, std::vector<std::uint8_t> *copy) {
  const void *from = nullptr;
  std::size_t size = 0;
  for (void **entry = request.extra; entry && *entry != CU_LAUNCH_PARAM_END; entry += 2) {
    if (*entry == CU_LAUNCH_PARAM_BUFFER_POINTER)
      from = entry[1];
    else if (*entry == CU_LAUNCH_PARAM_BUFFER_SIZE)
      size = *static_cast<std::size_t *>(entry[1]);
    else
      return Arguments();
  }
  if (from && copy)
    copy->assign(static_cast<const std::uint8_t *>(from), static_cast<const std::uint8_t *>(from) + size);
  return from ? Arguments(from, size) : Arguments();
}

Arguments argumentsOf(const LaunchRequest &request) {
  return request.parameters ? Arguments(request.parameters) : bufferOf(request, nullptr);
}

/// The argument buffer as the device sees it; false if its layout isn't known.
bool packArguments(const LaunchRequest &request, const std::vector<Parameter> &parameters,
                   std::vector<std::uint8_t> &buffer) {
  if (!request.parameters) {
    bufferOf(request, &buffer);
    return !buffer.empty() || parameters.empty();
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::size_t end = std::size_t(parameters[i].offset) + parameters[i].size;
    if (buffer.size() < end)
      buffer.resize(end);
    std::memcpy(buffer.data() + parameters[i].offset, request.parameters[i], parameters[i].size);
  }
  return true;
}

} // namespace

Recorder &Session::recorder() {
  if (Recorder *made = ready.load(std::memory_order_acquire))
    return *made;
  std::call_once(recorderOnce, [&] {
    theRecorder = std::make_unique<Recorder>(settings, describeProcess(settings), memory);
    ready.store(theRecorder.get(), std::memory_order_release);
  });
  return *theRecorder;
}

CUresult Session::launch(const LaunchRequest &request, RealCall call) {
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context || !request.function ||
      captures.isCapturing(request.stream)) {
    Gate::Pass pass = gate.pass();
    return call();
  }
  Target &target = targets.find(request.function, context, recorder());
  Decision decision = recorder().launching(*target.kernel, request.geometry, argumentsOf(request));
  if (request.refusal)
    recorder().refuse(decision, request.refusal);
  else if (decision.record)
    return record(request, call, target, context, decision);
  if (decision.time)
    loadOnce(target, request.function);
  return timed(context, request.stream, decision, call);
}

/// So that the first launch's time isn't that of loading its code.
void Session::loadOnce(Target &target, CUfunction function) {
  if (target.isLoaded.load(std::memory_order_relaxed) || captures.anyActive())
    return;
  Gate::Pass pass = gate.pass();
  Targets::load(function);
  target.isLoaded = true;
}

CUresult Session::timed(CUcontext context, CUstream stream, const Decision &decision, RealCall call) {
  Gate::Pass pass = gate.pass();
  if (!decision.time || captures.anyActive())
    return call();
  auto events = timer.begin(context, stream);
  CUresult result = call();
  if (events)
    timer.end(*events, stream, decision, recorder());
  return result;
}

/// Returns why the device can't be had for a snapshot; empty if it is idle.
std::string Session::makeIdle(Target &target, CUcontext context) {
  std::chrono::milliseconds deadline(settings.deadlineMilliseconds);
  auto synchronize = [context] {
    return driver().cuCtxSetCurrent(context) == CUDA_SUCCESS && driver().cuCtxSynchronize() == CUDA_SUCCESS;
  };
  switch (synchronizer.wait(synchronize, deadline)) {
  case Synchronizer::Outcome::Idle:
    return "";
  case Synchronizer::Outcome::Failed:
    return "the device failed";
  case Synchronizer::Outcome::TimedOut:
    target.missedDeadline = true;
    return "the device wasn't idle within the deadline";
  }
  return "";
}

CUresult Session::record(const LaunchRequest &request, RealCall call, Target &target, CUcontext context,
                         const Decision &decision) {
  std::vector<std::uint8_t> arguments;
  std::string reason = memory.unusable();
  if (reason.empty() && target.missedDeadline)
    reason = "the device wasn't idle within the deadline";
  if (reason.empty() && !packArguments(request, target.parameters, arguments))
    reason = "the layout of its arguments isn't known";
  if (reason.empty() && target.isForeign && textures.mayBeIn(arguments))
    reason = "an argument may be a texture or surface, whose handle means nothing at replay";
  if (reason.empty() && memory.isUnknownMemoryIn(arguments))
    reason = "an argument leads to device memory whose allocation the recorder did not see";
  Gate::Closed closed;
  if (reason.empty()) {
    closed = gate.close(std::chrono::milliseconds(settings.deadlineMilliseconds));
    if (!closed.owns_lock()) {
      reason = "another thread's call didn't return within the deadline";
      target.missedDeadline = true; // once is enough: that call may well wait for a kernel that never ends
    } else if (captures.anyActive())
      reason = "a stream was being captured";
    else
      reason = makeIdle(target, context);
  }
  CapturePointer capture;
  if (reason.empty())
    capture = recorder().before(decision, arguments.data(), arguments.size(), target.globals);
  else
    recorder().refuse(decision, reason);
  if (!capture) {
    if (closed.owns_lock())
      closed.unlock();
    return timed(context, request.stream, decision, call);
  }

  std::optional<Held> held; // code that isn't loaded yet would have the launch wait for the held stream
  timer.prepare(context, request.stream);
  if (Targets::load(request.function))
    held.emplace(hold, context, request.stream);
  auto events = timer.begin(context, request.stream);
  CUresult result = call();
  if (result != CUDA_SUCCESS) {
    held.reset();
    if (events)
      timer.recycle(*events);
    recorder().abandon(std::move(capture), "its launch failed");
    return result;
  }
  if (events)
    timer.end(*events, request.stream, decision, recorder());
  bool queuedInTime = !held || held->end();
  reason = makeIdle(target, context);
  std::uint64_t time = events && reason.empty() && queuedInTime ? timer.elapsed(*events) : 0;
  timer.collect(recorder()); // so that the counts written with this launch have its time
  if (!reason.empty()) {
    recorder().abandon(std::move(capture), reason);
    return result;
  }
  recorder().after(std::move(capture), time);
  return result;
}

CUresult Session::launchGraph(CUstream stream, RealCall call) {
  CUcontext context = nullptr;
  if (driver().cuCtxGetCurrent(&context) != CUDA_SUCCESS || !context || captures.isCapturing(stream)) {
    Gate::Pass pass = gate.pass();
    return call();
  }
  Kernel *kernel = graphKernel;
  if (!kernel) {
    KernelDescription description;
    description.module = "foreign:graph";
    description.name = "(CUDA graph)";
    description.device = describeProcess(settings).device;
    description.notRecordable = "launched as a CUDA graph";
    recorder().addForeignModule(description.module, "");
    kernel = &recorder().addKernel(description);
    graphKernel = kernel;
  }
  Decision decision = recorder().launching(*kernel, Geometry(), Arguments());
  return timed(context, stream, decision, call);
}

void Session::collectTimes() {
  if (Recorder *made = ready)
    timer.collect(*made);
}

void Session::contextGone(CUcontext context) {
  timer.forget(context);
  hold.forget(context);
  memory.contextGone(context);
  targets.forget();
}

namespace {

__attribute__((destructor)) void finishAtUnload() { Session::finish(); }

} // namespace
