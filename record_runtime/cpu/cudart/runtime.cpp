// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime.h"

#include "r3core/termination.h"

#include <atomic>
#include <cstring>
#include <dlfcn.h>
#include <pthread.h>

namespace r3::cpu::cudart {

constexpr uint64_t kUnrecordedArena = 0x200000000000;

void HostRanges::add(const void *start, size_t size) {
  std::lock_guard lock(mutex_);
  ranges_[reinterpret_cast<uint64_t>(start)] = size;
}

bool HostRanges::remove(const void *start) {
  std::lock_guard lock(mutex_);
  return ranges_.erase(reinterpret_cast<uint64_t>(start)) == 1;
}

bool HostRanges::holds(const void *address) const {
  std::lock_guard lock(mutex_);
  auto where = reinterpret_cast<uint64_t>(address);
  auto after = ranges_.upper_bound(where);
  return after != ranges_.begin() && where - std::prev(after)->first < std::prev(after)->second;
}

std::vector<ForeignRange> HostRanges::foreign() const {
  std::lock_guard lock(mutex_);
  std::vector<ForeignRange> result;
  for (auto [address, size] : ranges_) {
    ForeignRange range;
    range.address = address;
    range.size = size;
    range.reason = "registered host memory";
    result.push_back(range);
  }
  return result;
}

static ProcessInfo processInfo(const Settings &settings) {
  ProcessInfo info;
  info.device = "cpu";
  info.deviceName = "R3 cpu device, " + std::to_string(Engine::instance().workers()) + " threads";
  info.architecture = "cpu";
  info.driver = "r3cpu " + std::to_string(R3CPU_MODULE_VERSION);
  info.arenaBase = settings.arenaBase;
  info.arenaSize = settings.arenaSize;
  return info;
}

static std::atomic<Runtime *> theRuntime{nullptr};

Runtime &Runtime::instance() {
  // Never destroyed: programs call the runtime from their own destructors.
  static Runtime *runtime = [] {
    auto *made = new Runtime;
    theRuntime = made;
    return made;
  }();
  return *runtime;
}

Runtime *Runtime::used() { return theRuntime; }

/// A runtime that records nothing leaves the addresses of recorded memory to others: to a replay by this
/// process, or to the recorder for AMD's GPUs, under which this is a runtime like another.
static Settings runtimeSettings() {
  Settings settings = settingsFromEnvironment();
  if (dlsym(RTLD_DEFAULT, "r3record_hip"))
    settings.directory.clear();
  if (settings.directory.empty())
    settings.arenaBase = kUnrecordedArena;
  return settings;
}

Runtime::Runtime()
    : settings_(runtimeSettings()), arena_(pages_, settings_.arenaBase, settings_.arenaSize),
      memory_(arena_, host_ranges_) {
  if (!settings_.directory.empty())
    recorder_ = std::make_unique<Recorder>(settings_, processInfo(settings_), memory_);
  if (recorder_)
    finishBeforeSignals([] { Runtime::instance().finish(); });
  pthread_atfork(nullptr, nullptr, [] { Runtime::instance().detachAfterFork(); });
}

void Runtime::finish() {
  static std::mutex once; // whoever comes second waits: the process ends when it returns
  std::lock_guard lock(once);
  if (recorder_)
    recorder_->finish();
}

void Runtime::detachAfterFork() {
  leaveSignalsAlone();
  if (recorder_)
    recorder_->detachAfterFork();
}

r3::Kernel &Runtime::recordedKernel(Function &function) {
  if (!function.recorded) {
    const Note &note = function.binary->note();
    recorder_->addModule(note);
    KernelDescription description;
    description.module = note.module;
    description.name = function.name;
    const r3cpu_kernel_entry &entry = *function.kernel->entry;
    const NoteKernel *described = note.kernel(function.name);
    for (uint32_t i = 0; i < entry.parameter_count; ++i) {
      bool isScalar = described && i < described->parameters.size() && described->parameters[i].isScalar;
      description.parameters.push_back({entry.parameters[i].offset, entry.parameters[i].size, isScalar});
    }
    description.device = "cpu";
    function.recorded = &recorder_->addKernel(description);
  }
  return *function.recorded;
}

std::vector<GlobalVariable> Runtime::globalsOf(Function &function) {
  std::vector<GlobalVariable> globals;
  const Note &note = function.binary->note();
  const NoteKernel *kernel = note.kernel(function.name);
  if (!kernel)
    return globals;
  NoteIndex unused;
  r3cpu_module &module = function.binary->module(unused);
  for (const std::string &name : kernel->globals) {
    const NoteGlobal *described = note.global(name);
    const r3cpu_global_entry *global = module.findGlobal(name);
    if (described && described->isMutable && global)
      globals.push_back({name, reinterpret_cast<uint64_t>(global->address), global->size});
  }
  return globals;
}

static std::vector<unsigned char> packArguments(const r3cpu_kernel &kernel, void **arguments) {
  std::vector<unsigned char> buffer(kernel.argumentSize());
  for (uint32_t i = 0; i < kernel.entry->parameter_count; ++i) {
    const r3cpu_parameter &parameter = kernel.entry->parameters[i];
    std::memcpy(buffer.data() + parameter.offset, arguments[i], parameter.size);
  }
  return buffer;
}

void Runtime::launch(const void *stub, Dim3 grid, Dim3 block, size_t shared, void **arguments) {
  std::lock_guard lock(gate_);
  Function &function = registry_.function(stub);
  std::vector<unsigned char> buffer = packArguments(*function.kernel, arguments);
  Launch launch{function.kernel,
                {grid.x, grid.y, grid.z},
                {block.x, block.y, block.z},
                static_cast<uint32_t>(shared),
                buffer.data(),
                buffer.size()};
  if (!recorder_) {
    Engine::instance().run(launch);
    return;
  }
  Geometry geometry{{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, static_cast<uint32_t>(shared)};
  Decision decision = recorder_->launching(recordedKernel(function), geometry, r3::Arguments(arguments));
  CapturePointer capture;
  if (decision.record)
    capture = recorder_->before(decision, buffer.data(), buffer.size(), globalsOf(function));
  uint64_t time = 0;
  try {
    time = Engine::instance().run(launch);
  } catch (...) {
    if (capture)
      recorder_->abandon(std::move(capture), "its launch failed");
    throw;
  }
  if (capture)
    recorder_->after(std::move(capture), time);
  if (decision.time)
    recorder_->timed(decision, time);
}

__attribute__((destructor)) static void finishRecording() {
  if (Runtime *used = Runtime::used())
    used->finish();
}

} // namespace r3::cpu::cudart
