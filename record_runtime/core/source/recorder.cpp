// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/recorder.h"
#include "capture.h"
#include "counts.h"
#include "documents.h"
#include "pack.h"
#include "r3core/log.h"
#include "ranks.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <cxxabi.h>
#include <deque>
#include <regex.h>
#include <sys/utsname.h>
#include <unistd.h>

using namespace r3;
using Clock = std::chrono::steady_clock;

namespace {

constexpr auto FirstInterval = std::chrono::seconds(1);

std::string hostName() {
  utsname system;
  return uname(&system) == 0 ? system.nodename : "unknown";
}

std::string utc(const char *format) {
  std::time_t now = std::time(nullptr);
  std::tm parts;
  gmtime_r(&now, &parts);
  char buffer[64];
  return std::string(buffer, std::strftime(buffer, sizeof(buffer), format, &parts));
}

/// <host>-<pid>-<start>: the time to the nanosecond, for a process id can be used again.
std::string packStem() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  char fraction[16];
  snprintf(fraction, sizeof(fraction), "%09ld", now.tv_nsec);
  return hostName() + "-" + std::to_string(getpid()) + "-" + utc("%Y%m%dT%H%M%S") + fraction;
}

std::uint64_t nanoseconds(Clock::duration duration) {
  return std::uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(duration).count());
}

/// The user's regular expression for kernel names; without one, every name matches.
class NameFilter {
public:
  explicit NameFilter(const std::string &pattern) {
    if (pattern.empty())
      return;
    usable = regcomp(&compiled, pattern.c_str(), REG_EXTENDED | REG_NOSUB) == 0;
    if (!usable)
      message(
          "R3_RECORD_KERNELS is '%s', which is not an extended regular expression; every kernel is recorded",
          pattern.c_str());
  }
  ~NameFilter() {
    if (usable)
      regfree(&compiled);
  }
  /// Mangled or demangled name.
  bool matches(const std::string &name) const {
    if (!usable || regexec(&compiled, name.c_str(), 0, nullptr, 0) == 0)
      return true;
    int status = 0;
    std::unique_ptr<char, void (*)(void *)> demangled(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
    return demangled && regexec(&compiled, demangled.get(), 0, nullptr, 0) == 0;
  }

private:
  bool usable = false;
  regex_t compiled;
};

} // namespace

class Recorder::Implementation {
public:
  Implementation(const Settings &settings, const ProcessInfo &process, Memory &memory)
      : settings(settings), quota{settings.launches, settings.heldOut, settings.skip, settings.every},
        filter(settings.kernels), takesPart(isAmong(settings.ranks, processRank())),
        claims(settings.directory, settings.ranks),
        plan(settings.plan.empty() ? std::nullopt : Plan::read(settings.plan)), memory(memory),
        stem(packStem()), pack(settings.directory + "/" + stem + ".r3pack", settings.quotaBytes) {
    if (!pack.opened()) {
      message("can't write a recording in '%s': %s; the program runs unrecorded", settings.directory.c_str(),
              std::strerror(errno));
      return;
    }
    pack.putDocument(processDocument(process, utc("%Y-%m-%dT%H:%M:%SZ"), hostName()));
    startWriter();
  }

  void startWriter();
  void writeCountsNowAndThen();
  void writeCounts();
  void writeCounts(Kernel &kernel);
  void refuse(Kernel &kernel, const std::string &reason);
  void underWay(Kernel &kernel, int change);
  void giveSlotBack(const Decision &decision);
  Shape &shapeOf(Kernel &kernel, const Geometry &geometry);
  bool mayRecord(Kernel &kernel, Shape &shape);
  void lose(const Decision &decision);
  void finish();

  const Settings settings;
  const Quota quota;
  const NameFilter filter;
  const bool takesPart; ///< this process's launches are recorded, not only counted
  KernelClaims claims;
  const std::optional<Plan> plan;
  Memory &memory;
  const std::string stem;
  PackWriter pack;
  KnownChunks knownChunks;
  const Clock::time_point start = Clock::now();

  std::mutex mutex; // of all below
  std::deque<Kernel> kernels;
  std::unordered_set<std::string> modules;
  std::uint64_t nextLaunch = 0;
  std::uint64_t recordingTime = 0, copiedBytes = 0;

  std::mutex counting; // held while a kernel's counts are taken and queued
  std::mutex tick;     // of the three below
  std::condition_variable wake;
  bool finishing = false;
  std::thread writer;

  std::atomic<bool> detached{false}, finished{false};
  bool idle() const { return detached || finished; }
};

void Recorder::Implementation::startWriter() {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  try {
    writer = std::thread([this] { writeCountsNowAndThen(); });
  } catch (const std::system_error &) {
    // Counts are written at each recorded launch and at the end all the same.
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

/// Once a second at first, ever more seldom in a long run: a pack must not fill up with counts.
void Recorder::Implementation::writeCountsNowAndThen() {
  std::unique_lock lock(tick);
  for (;;) {
    Clock::duration interval = std::max<Clock::duration>(FirstInterval, (Clock::now() - start) / 64);
    if (wake.wait_for(lock, interval, [&] { return finishing; }))
      return;
    lock.unlock();
    writeCounts();
    lock.lock();
  }
}

void Recorder::Implementation::writeCounts() {
  std::vector<Kernel *> all;
  {
    std::lock_guard lock(mutex);
    for (Kernel &kernel : kernels)
      all.push_back(&kernel);
  }
  for (Kernel *kernel : all)
    writeCounts(*kernel);
}

void Recorder::Implementation::writeCounts(Kernel &kernel) {
  std::lock_guard order(counting); // a full queue must not let older counts of a kernel follow newer ones
  try {
    std::string document;
    {
      std::lock_guard lock(kernel.mutex);
      if (!kernel.changed)
        return;
      document = kernelDocument(kernel);
      kernel.changed = false;
    }
    pack.putDocument(std::move(document));
  } catch (const std::bad_alloc &) { // the next ones hold all that these would have
  }
}

void Recorder::Implementation::refuse(Kernel &kernel, const std::string &reason) {
  std::lock_guard lock(kernel.mutex);
  ++kernel.refusals[reason];
  kernel.changed = true;
}

void Recorder::Implementation::underWay(Kernel &kernel, int change) {
  std::lock_guard lock(kernel.mutex);
  kernel.underWay += std::uint64_t(change);
  kernel.changed = true;
}

void Recorder::Implementation::giveSlotBack(const Decision &decision) {
  std::lock_guard lock(decision.kernel->mutex);
  decision.shape->giveBack(decision.use);
}

/// A recorded launch didn't get into the pack after all.
void Recorder::Implementation::lose(const Decision &decision) {
  std::lock_guard lock(decision.kernel->mutex);
  --decision.kernel->recorded;
  ++decision.kernel->refusals["the recording is full"];
  decision.kernel->changed = true;
}

void Recorder::Implementation::finish() {
  {
    std::lock_guard lock(tick);
    if (finishing)
      return;
    finishing = true;
  }
  wake.notify_all();
  if (writer.joinable())
    writer.join();
  pack.drain();
  writeCounts();
  Totals totals;
  {
    std::lock_guard lock(mutex);
    for (Kernel &kernel : kernels) {
      std::lock_guard counts(kernel.mutex);
      totals.launches += kernel.launches;
      totals.recorded += kernel.recorded;
    }
    totals.recordingTime = recordingTime;
    totals.copiedBytes = copiedBytes;
    totals.wallTime = nanoseconds(Clock::now() - start);
  }
  pack.putDocument(endDocument(totals));
  pack.close();
  finished = true;
}

void r3::DeleteCapture::operator()(Capture *capture) const { delete capture; }

Recorder::Recorder(const Settings &settings, const ProcessInfo &process, Memory &memory)
    : implementation(std::make_unique<Implementation>(settings, process, memory)) {}

Recorder::~Recorder() { finish(); }

void Recorder::addModule(const Note &note) {
  if (implementation->idle())
    return;
  {
    std::lock_guard lock(implementation->mutex);
    if (!implementation->modules.insert(note.module).second)
      return;
  }
  Key bitcode = implementation->pack.putBlob(note.bitcode, note.bitcodeSize);
  implementation->pack.putDependent(moduleDocument(note, bitcode), {});
}

void Recorder::addForeignModule(const std::string &module, const std::string &binary) {
  if (implementation->idle())
    return;
  {
    std::lock_guard lock(implementation->mutex);
    if (!implementation->modules.insert(module).second)
      return;
  }
  implementation->pack.putDocument(foreignModuleDocument(module, binary));
}

std::string Recorder::addForeignModule(const ForeignModule &module) {
  std::string name = "foreign:" + keyOf(module.image, module.size).hex();
  if (implementation->idle())
    return name;
  {
    std::lock_guard lock(implementation->mutex);
    if (!implementation->modules.insert(name).second)
      return name;
  }
  Key image = implementation->pack.putBlob(module.image, module.size);
  std::optional<Key> ptx;
  if (module.ptx)
    ptx = implementation->pack.putBlob(module.ptx, module.ptxSize);
  implementation->pack.putDependent(foreignModuleDocument(name, module, image, ptx), {});
  return name;
}

Kernel &Recorder::addKernel(const KernelDescription &description) {
  bool selected = implementation->takesPart && !implementation->settings.timesOnly &&
                  implementation->filter.matches(description.name);
  std::lock_guard lock(implementation->mutex);
  for (Kernel &kernel : implementation->kernels)
    if (kernel.description.name == description.name && kernel.description.module == description.module &&
        kernel.description.device == description.device)
      return kernel;
  return implementation->kernels.emplace_back(description, selected, implementation->settings.snapshot);
}

/// The kernel's lock must be held.
Shape &Recorder::Implementation::shapeOf(Kernel &kernel, const Geometry &geometry) {
  Shape &shape = kernel.shape(geometry);
  if (plan && !shape.launches)
    shape.follow(plan->launches(kernel.description.name, geometry));
  ++shape.launches;
  return shape;
}

/// What holds for every launch of the shape from here on. The kernel's lock must be held.
bool Recorder::Implementation::mayRecord(Kernel &kernel, Shape &shape) {
  if (!shape.counted && kernel.recordedShapes >= Kernel::RecordedShapeLimit)
    return false;
  if (!shape.claimed)
    shape.claimed = claims.ask(kernel.description, shape.geometry, shape.launches);
  return shape.claimed.value_or(false);
}

Decision Recorder::launching(Kernel &kernel, const Geometry &geometry, const Arguments &arguments) {
  const Quota &quota = implementation->quota;
  Decision decision;
  decision.kernel = &kernel;
  decision.geometry = geometry;
  if (implementation->idle())
    return decision;
  std::lock_guard lock(kernel.mutex);
  Shape &shape = implementation->shapeOf(kernel, geometry);
  decision.shape = &shape;
  decision.ordinal = kernel.launches++;
  kernel.changed = true;
  decision.time = shape.wantsTime();
  if (!kernel.selected || !kernel.description.notRecordable.empty() || decision.ordinal < quota.skip)
    return decision;
  decision.use = shape.wanted(quota, kernel.description.parameters, arguments);
  if (decision.use == Use::None || !implementation->pack.accepting() || implementation->idle() ||
      !implementation->mayRecord(kernel, shape))
    return decision;
  kernel.recordedShapes += !shape.counted;
  shape.counted = true;
  decision.record = true;
  decision.heldOut = decision.use == Use::HeldOut;
  shape.begun(decision.use, quota);
  return decision;
}

void Recorder::timed(const Decision &decision, std::uint64_t time) {
  if (implementation->idle() || !decision.shape)
    return;
  std::lock_guard lock(decision.kernel->mutex);
  decision.shape->addTime(time);
  decision.kernel->changed = true;
}

void Recorder::refuse(const Decision &decision, const std::string &reason) {
  if (implementation->idle() || !decision.shape || !decision.kernel->description.notRecordable.empty())
    return; // the last: counted with all its launches
  implementation->refuse(*decision.kernel, reason);
  if (decision.record)
    implementation->giveSlotBack(decision);
}

CapturePointer Recorder::before(const Decision &decision, const void *arguments, std::size_t argumentsSize,
                                const std::vector<GlobalVariable> &globals) {
  if (implementation->idle())
    return nullptr;
  Kernel &kernel = *decision.kernel;
  SnapshotKind snapshot;
  bool checkAll;
  {
    std::lock_guard lock(kernel.mutex);
    snapshot = kernel.snapshot;
    checkAll = !kernel.wholeArenaChecked;
  }
  CapturePointer capture;
  std::optional<std::string> reason;
  try {
    capture.reset(
        new Capture(decision, implementation->memory, implementation->pack, implementation->knownChunks));
    const auto *bytes = static_cast<const std::uint8_t *>(arguments);
    capture->arguments.assign(bytes, bytes + argumentsSize);
    reason = capture->prologue(snapshot, globals);
    if (!reason && checkAll)
      reason = capture->watchUnreached();
  } catch (const std::exception &error) {
    reason = std::string("the recorder ran into: ") + error.what();
  }
  if (reason) {
    refuse(decision, *reason);
    return nullptr;
  }
  implementation->underWay(kernel, 1);
  implementation->writeCounts(kernel);
  return capture;
}

void Recorder::after(CapturePointer capture, std::uint64_t time) {
  if (implementation->idle() || !capture)
    return;
  Kernel &kernel = *capture->decision.kernel;
  std::optional<std::string> reason;
  std::string identity;
  implementation->underWay(kernel, -1);
  try {
    reason = capture->epilogue();
    identity = capture->identity(kernel.description.name);
  } catch (const std::exception &error) {
    reason = std::string("the recorder ran into: ") + error.what();
  }
  bool isNew;
  {
    std::lock_guard lock(kernel.mutex);
    if (reason == Capture::ChangedUnreached) {
      kernel.snapshot = SnapshotKind::All;
      capture->decision.shape->planAtOnce();
    }
    kernel.wholeArenaChecked |= !reason || reason == Capture::ChangedUnreached;
    isNew = !reason && kernel.identities.insert(identity).second;
    kernel.recorded += isNew;
    kernel.changed = true; // the writer may have been by since the launch
  }
  if (reason)
    refuse(capture->decision, *reason);
  else if (!isNew) // the same launch again teaches nothing
    implementation->giveSlotBack(capture->decision);
  std::string launch;
  {
    std::lock_guard lock(implementation->mutex);
    implementation->recordingTime += nanoseconds(Clock::now() - capture->begin);
    implementation->copiedBytes += capture->copiedBytes;
    if (isNew)
      launch = implementation->stem + "/" + std::to_string(implementation->nextLaunch++);
  }
  auto lose = [this, decision = capture->decision] { implementation->lose(decision); };
  try {
    if (isNew)
      implementation->pack.putDependent(launchDocument(*capture, kernel.description, launch, time), lose);
  } catch (const std::bad_alloc &) {
    lose();
  }
  implementation->writeCounts(kernel);
}

void Recorder::abandon(CapturePointer capture, const std::string &reason) {
  if (!capture || implementation->idle())
    return;
  implementation->underWay(*capture->decision.kernel, -1);
  refuse(capture->decision, reason);
}

void Recorder::finish() {
  if (!implementation->idle())
    implementation->finish();
}

void Recorder::detachAfterFork() { implementation->detached = true; }
