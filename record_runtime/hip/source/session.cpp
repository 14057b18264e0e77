// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "session.h"

#include "hip/abi.h"
#include "r3core/termination.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <pthread.h>
#include <tuple>

/// By this name the cpu device's own HIP runtime knows that it is recorded from outside.
R3_HIP_EXPORT const int r3record_hip = 1;

namespace r3::hip {

namespace {

std::atomic<Session *> theSession{nullptr};
std::atomic<bool> ended{false};

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

} // namespace

Session *Session::active() {
  if (Inside::already() || ended.load(std::memory_order_relaxed))
    return nullptr;
  static const bool wanted = !settingsFromEnvironment().directory.empty();
  if (!wanted)
    return nullptr;
  static std::once_flag once;
  std::call_once(once, [] {
    auto *made = new Session;
    finishBeforeSignals(Session::finish);
    pthread_atfork(nullptr, nullptr, [] {
      ended = true;
      leaveSignalsAlone();
      if (Session *inherited = theSession.load(); inherited && inherited->recorder_)
        inherited->recorder_->detachAfterFork();
    });
    theSession = made;
  });
  return theSession;
}

void Session::finish() {
  static std::mutex once; // whoever comes second waits: the process ends when it returns
  std::lock_guard lock(once);
  Session *session = theSession.load();
  if (!session || ended.exchange(true) || !session->recorder_)
    return;
  session->recorder_->finish();
}

Session::Session() : settings_(settingsFromEnvironment()), memory_(settings_) {}

void Session::describe(ProcessInfo &process) {
  int device = 0, version = 0;
  calls().hipGetDevice(&device);
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

Error Session::launch(const LaunchRequest &request, const std::function<Error()> &call) {
  Inside inside;
  Recorder &counts = recorder();
  Function *function = registry_.function(request.stub, architecture_, device_, counts);
  int capturing = 0;
  if (calls().hipStreamIsCapturing)
    calls().hipStreamIsCapturing(request.stream, &capturing);
  if (!function || capturing) {
    std::shared_lock lock(gate_);
    return call();
  }
  Decision decision = counts.launching(*function->kernel, request.geometry, Arguments(request.arguments));
  Error result =
      decision.record ? record(request, *function, decision, call) : timed(request, decision, call);
  if (captures_ == 0)
    timer_.collect(counts);
  return result;
}

Error Session::timed(const LaunchRequest &request, const Decision &decision,
                     const std::function<Error()> &call) {
  std::shared_lock lock(gate_);
  if (!decision.time || captures_ > 0)
    return call();
  auto events = timer_.begin(request.stream);
  Error result = call();
  if (events)
    timer_.end(*events, request.stream, decision);
  return result;
}

static std::vector<std::uint8_t> packed(const std::vector<Parameter> &parameters, void **arguments) {
  std::vector<std::uint8_t> buffer;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    buffer.resize(std::max<std::size_t>(buffer.size(), parameters[i].offset + parameters[i].size));
    std::memcpy(buffer.data() + parameters[i].offset, arguments[i], parameters[i].size);
  }
  return buffer;
}

std::vector<GlobalVariable> Session::globalsOf(const Function &function) {
  std::vector<GlobalVariable> globals;
  for (const auto &[name, size] : function.globals) {
    const void *shadow = registry_.shadow(function, name);
    void *address = nullptr;
    if (shadow && calls().hipGetSymbolAddress(&address, shadow) == Success)
      globals.push_back({name, reinterpret_cast<std::uint64_t>(address), size});
  }
  return globals;
}

Error Session::record(const LaunchRequest &request, const Function &function, const Decision &decision,
                      const std::function<Error()> &call) {
  std::unique_lock closed(gate_, std::chrono::milliseconds(settings_.deadlineMilliseconds));
  std::string reason = memory_.unusable();
  if (!closed.owns_lock())
    reason = "another thread's call didn't return within the deadline";
  else if (captures_ > 0)
    reason = "a stream was being captured";
  else if (calls().hipDeviceSynchronize() != Success)
    reason = "the device failed";
  CapturePointer capture;
  std::vector<std::uint8_t> arguments = packed(function.parameters, request.arguments);
  if (reason.empty())
    capture = recorder().before(decision, arguments.data(), arguments.size(), globalsOf(function));
  else
    recorder().refuse(decision, reason);
  auto events = timer_.begin(request.stream);
  Error result = call();
  if (events)
    timer_.end(*events, request.stream, decision);
  if (!capture)
    return result;
  bool ran = result == Success && calls().hipDeviceSynchronize() == Success;
  if (ran)
    recorder().after(std::move(capture), events ? Timer::elapsed(*events) : 0);
  else
    recorder().abandon(std::move(capture), "the launch failed");
  return result;
}

__attribute__((destructor)) static void finishAtUnload() { Session::finish(); }

} // namespace r3::hip
