// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"

#include "hip/abi.h"
#include "r3core/termination.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <tuple>

/// By this name the cpu device's own HIP runtime knows that it is recorded from outside.
R3_HIP_EXPORT const int r3record_hip = 1;

namespace r3::hip {

namespace {

std::atomic<Session *> theSession{nullptr};
std::atomic<bool> detached{false}; // in a forked child

/// The GPU's name and its architecture without features, by the layout that the runtime's version has.
std::pair<std::string, std::string> nameAndArchitecture(int device) {
  std::string name, architecture;
  if (auto *get = next<Error(cpu::hip::DeviceProperties6 *, int)>("hipGetDevicePropertiesR0600")) {
    auto properties = std::make_unique<cpu::hip::DeviceProperties6>();
    if (get(properties.get(), device) == Success)
      name = properties->common.name, architecture = properties->architecture;
  } else if (auto *old = next<Error(cpu::hip::DeviceProperties5 *, int)>("hipGetDeviceProperties")) {
    auto properties = std::make_unique<cpu::hip::DeviceProperties5>();
    if (old(properties.get(), device) == Success)
      name = properties->name, architecture = properties->architecture;
  }
  return {name, architecture.substr(0, architecture.find(':'))};
}

int currentDevice() {
  int device = 0;
  calls().hipGetDevice(&device);
  return device;
}

/// HIP's headers give threadIdx and the like a variable each, which holds nothing and which no runtime knows.
bool holdsNothing(const NoteGlobal &global) { return global.name.rfind("_ZN17__HIP_Coordinates", 0) == 0; }

std::vector<std::uint8_t> packed(const std::vector<Parameter> &parameters, void **arguments) {
  std::vector<std::uint8_t> buffer;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    std::size_t end = std::size_t(parameters[i].offset) + parameters[i].size;
    buffer.resize(std::max(buffer.size(), end));
    std::memcpy(buffer.data() + parameters[i].offset, arguments[i], parameters[i].size);
  }
  return buffer;
}

} // namespace

Session *Session::active() {
  if (Inside::already() || detached.load(std::memory_order_relaxed))
    return nullptr;
  static const bool wanted = !settingsFromEnvironment().directory.empty();
  if (!wanted)
    return nullptr;
  Session *current = theSession.load(std::memory_order_acquire);
  return current ? current : begin();
}

Session *Session::begin() {
  static std::once_flag once;
  std::call_once(once, [] {
    auto *made = new Session;
    finishBeforeSignals(finishAtOnce);
    std::atexit(drainTimes); // after the runtime's own handler was registered, so it runs before
    pthread_atfork(nullptr, nullptr, [] {
      detached = true;
      leaveSignalsAlone();
      if (Session *inherited = theSession.load(); inherited && inherited->recorder_)
        inherited->recorder_->detachAfterFork();
    });
    theSession = made;
  });
  return theSession;
}

void Session::drainTimes() {
  Session *session = theSession.load();
  if (!session || detached || !session->recorder_)
    return;
  Inside inside;
  session->timer_.drain(*session->recorder_);
}

void Session::finish() {
  static std::mutex once; // whoever comes second waits: the process ends when it returns
  Session *session = theSession.load();
  if (!session || detached || !session->recorder_)
    return;
  std::lock_guard lock(once);
  session->recorder_->finish();
}

void Session::finishAtOnce() {
  drainTimes();
  finish();
}

Session::Session() : settings_(settingsFromEnvironment()), memory_(settings_) {}

void Session::describe(ProcessInfo &process) {
  int device = currentDevice(), version = 0;
  calls().hipRuntimeGetVersion(&version);
  process.device = device_ = "hip:" + std::to_string(device);
  std::tie(process.deviceName, architecture_) = nameAndArchitecture(device);
  process.architecture = architecture_;
  process.driver = "HIP " + std::to_string(version / 10000000) + "." + std::to_string(version / 100000 % 100);
  process.arenaBase = settings_.arenaBase;
  process.arenaSize = settings_.arenaSize;
}

Recorder &Session::recorder() {
  std::call_once(recorder_once_, [&] {
    ProcessInfo process;
    describe(process);
    recorder_ = std::make_unique<Recorder>(settings_, process, memory_);
  });
  return *recorder_;
}

void Session::captureBegan() {
  captured_ = true;
  ++captures_;
}

bool Session::isCapturing(void *stream) const {
  if (!captured_ || !calls().hipStreamIsCapturing)
    return false;
  int status = 0;
  return calls().hipStreamIsCapturing(stream, &status) != Success || status != 0;
}

void Session::deviceReset() {
  Inside inside;
  int device = currentDevice();
  timer_.collect(recorder());
  timer_.forget(device);
  memory_.deviceGone(device);
}

Error Session::launch(const LaunchRequest &request, const std::function<Error()> &call) {
  Inside inside;
  OwnErrors errors;
  Recorder &counts = recorder();
  std::shared_ptr<Function> function = registry_.function(request.stub, architecture_, device_, counts);
  if (!function || isCapturing(request.stream)) {
    Gate::Pass pass = gate_.pass();
    return errors.leave(call());
  }
  Decision decision = counts.launching(*function->kernel, request.geometry, Arguments(request.arguments));
  if (request.refusal)
    counts.refuse(decision, request.refusal);
  else if (decision.record)
    return errors.leave(record(request, *function, decision, call));
  return errors.leave(timed(request.stream, decision, call));
}

Error Session::launchGraph(void *stream, const std::function<Error()> &call) {
  Inside inside;
  OwnErrors errors;
  if (isCapturing(stream)) {
    Gate::Pass pass = gate_.pass();
    return errors.leave(call());
  }
  Recorder &counts = recorder();
  counts.addForeignModule("foreign:graph", "");
  Kernel &graph = counts.addKernel({"foreign:graph", "(HIP graph)", {}, device_, "launched as a HIP graph"});
  return errors.leave(timed(stream, counts.launching(graph, Geometry(), Arguments()), call));
}

Error Session::timed(void *stream, const Decision &decision, const std::function<Error()> &call) {
  Gate::Pass pass = gate_.pass();
  if (!decision.time || isCapturingAny())
    return call();
  auto events = timer_.begin(currentDevice(), stream);
  Error result = call();
  if (events)
    timer_.end(*events, stream, decision, recorder());
  return result;
}

/// Finds the module's variables. Returns why the launch isn't recordable, or an empty string.
std::string Session::locate(const Function &function, std::vector<GlobalVariable> &globals) {
  const NoteKernel &kernel = *function.note->kernel(function.name);
  for (const NoteGlobal &global : function.note->globals) {
    bool reached =
        std::find(kernel.globals.begin(), kernel.globals.end(), global.name) != kernel.globals.end();
    const void *shadow = registry_.shadow(function, global.name);
    void *address = nullptr;
    if (!shadow || calls().hipGetSymbolAddress(&address, shadow) != Success) {
      if (reached && global.isMutable && !holdsNothing(global))
        return "the runtime can't find its variable " + global.name;
      continue;
    }
    // Its address is another one at replay.
    memory_.addForeign(address, global.size, "a pointer to the device variable " + global.name);
    if (reached && global.isMutable)
      globals.push_back({global.name, reinterpret_cast<std::uint64_t>(address), global.size});
  }
  return "";
}

/// Returns why the device can't be had for a snapshot; empty if it is idle.
std::string Session::makeIdle(Function &function) {
  auto synchronize = [device = currentDevice()] {
    Inside inside;
    return calls().hipSetDevice(device) == Success && calls().hipDeviceSynchronize() == Success;
  };
  switch (synchronizer_.wait(synchronize, std::chrono::milliseconds(settings_.deadlineMilliseconds))) {
  case Synchronizer::Outcome::Idle:
    return "";
  case Synchronizer::Outcome::Failed:
    return "the device failed";
  case Synchronizer::Outcome::TimedOut:
    function.missedDeadline = true;
    return "the device wasn't idle within the deadline";
  }
  return "";
}

/// Holds all other calls back. Returns why that can't be had; empty if the device is idle then.
std::string Session::closeFor(Function &function, Gate::Closed &closed) {
  closed = gate_.close(std::chrono::milliseconds(settings_.deadlineMilliseconds));
  if (!closed.owns_lock()) {
    function.missedDeadline = true; // once is enough: that call may well wait for a kernel that never ends
    return "another thread's call didn't return within the deadline";
  }
  return isCapturingAny() ? "a stream was being captured" : makeIdle(function);
}

Error Session::record(const LaunchRequest &request, Function &function, const Decision &decision,
                      const std::function<Error()> &call) {
  std::vector<std::uint8_t> arguments;
  std::vector<GlobalVariable> globals;
  std::string reason = memory_.unusable();
  if (reason.empty() && function.missedDeadline)
    reason = "the device wasn't idle within the deadline";
  if (reason.empty() && !request.arguments && !function.parameters.empty())
    reason = "the layout of its arguments isn't known";
  if (reason.empty())
    reason = locate(function, globals);
  if (reason.empty())
    arguments = packed(function.parameters, request.arguments);
  if (reason.empty() && memory_.isUnknownMemoryIn(arguments))
    reason = "an argument leads to device memory whose allocation the recorder did not see";
  Gate::Closed closed;
  if (reason.empty())
    reason = closeFor(function, closed);
  CapturePointer capture;
  if (reason.empty())
    capture = recorder().before(decision, arguments.data(), arguments.size(), globals);
  else
    recorder().refuse(decision, reason);
  if (!capture) {
    if (closed.owns_lock())
      closed.unlock();
    return timed(request.stream, decision, call);
  }

  auto events = timer_.begin(currentDevice(), request.stream);
  Error result = call();
  if (result != Success) {
    if (events)
      timer_.recycle(*events);
    recorder().abandon(std::move(capture), "its launch failed");
    return result;
  }
  if (events)
    timer_.end(*events, request.stream, decision, recorder());
  reason = makeIdle(function);
  std::uint64_t time = events && reason.empty() ? Timer::elapsed(*events) : 0;
  timer_.collect(recorder()); // so that the counts written with this launch have its time
  if (reason.empty())
    recorder().after(std::move(capture), time);
  else
    recorder().abandon(std::move(capture), reason);
  return result;
}

__attribute__((destructor)) static void finishAtUnload() { Session::finish(); }

} // namespace r3::hip
