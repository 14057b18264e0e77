// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/arena.h"
#include "r3core/notes.h"
#include "r3core/settings.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace r3 {

struct Dim3 {
  std::uint32_t x = 1, y = 1, z = 1;
  bool operator==(const Dim3 &other) const { return x == other.x && y == other.y && z == other.z; }
};

struct Geometry {
  Dim3 grid, block;
  std::uint32_t shared = 0; ///< dynamic shared memory, bytes
  bool operator==(const Geometry &other) const {
    return grid == other.grid && block == other.block && shared == other.shared;
  }
};

/// A module's global variable where it lies in the running program.
struct GlobalVariable {
  std::string name;
  std::uint64_t address = 0;
  std::uint64_t size = 0;
};

/// Memory that devices see and the arena doesn't own: a launch that reaches it is not recordable.
struct ForeignRange {
  std::uint64_t address = 0;
  std::uint64_t size = 0;
  std::string reason;          ///< "managed memory"
  bool matchesInMemory = true; ///< false: only values in arguments and globals count, not those in memory
};

/// Content of device memory is stored and compared in chunks of so many bytes; the last one may be shorter.
constexpr std::size_t ChunkBytes = std::size_t(256) << 10;

/// 128 bits that tell contents of equal size apart, within one process.
struct Fingerprint {
  std::uint64_t first = 0, second = 0;
  bool operator==(const Fingerprint &other) const { return first == other.first && second == other.second; }
  bool operator!=(const Fingerprint &other) const { return !(*this == other); }
};

/// Where a pointer may lead: addresses from `first` to `last`, both included.
struct PointerTarget {
  std::uint64_t first = 0, last = 0;
  bool operator==(const PointerTarget &other) const { return first == other.first && last == other.last; }
};

/// The memory that a recorder copies from. Called only while the device is idle.
class Memory {
public:
  virtual ~Memory() = default;
  /// Live allocations by ascending address.
  virtual std::vector<Allocation> allocations() = 0;
  virtual std::vector<ForeignRange> foreign() = 0;
  /// Host-visible bytes of [address, address + size), valid until the next call; null on failure.
  /// `size` is at most ViewBytes.
  virtual const std::uint8_t *view(std::uint64_t address, std::size_t size) = 0;
  static constexpr std::size_t ViewBytes = std::size_t(8) << 20;

  /// Fingerprints of the chunks of [address, address + size), taken where the memory lies. False where that
  /// can't be done: then view() has to serve.
  virtual bool fingerprint(std::uint64_t, std::uint64_t, std::vector<Fingerprint> &) { return false; }
  /// Sets hits[i] where an aligned 8-byte word of [address, address + size) lies in targets[i], these sorted;
  /// found where the memory lies, or false.
  virtual bool findPointers(std::uint64_t, std::uint64_t, const std::vector<PointerTarget> &,
                            std::vector<std::uint8_t> &) {
    return false;
  }
};

/// The `process` document, as far as the front knows it.
struct ProcessInfo {
  std::string device;       ///< "cuda:0", "cpu"
  std::string deviceName;   ///< "NVIDIA H200"
  std::string architecture; ///< "sm_90"
  std::string driver;
  std::uint64_t arenaBase = 0;
  std::uint64_t arenaSize = 0;
};

struct KernelDescription {
  std::string module; ///< SHA-256 of the bitcode, or "foreign:…"
  std::string name;   ///< mangled
  std::vector<Parameter> parameters;
  std::string device;
  /// Why no launch of it can be recorded; empty if they can.
  std::string notRecordable;
};

/// A launch's arguments where the program has them: a pointer to each, or the whole buffer.
class Arguments {
public:
  Arguments() = default; ///< nothing is known of them
  explicit Arguments(void *const *pointers) : pointers(pointers) {}
  Arguments(const void *buffer, std::size_t size)
      : buffer(static_cast<const std::uint8_t *>(buffer)), size(size) {}
  /// The bytes of parameter number `index`; null if they aren't known.
  const void *value(std::size_t index, const Parameter &parameter) const {
    if (pointers)
      return pointers[index];
    return std::size_t(parameter.offset) + parameter.size <= size ? buffer + parameter.offset : nullptr;
  }

private:
  void *const *pointers = nullptr;
  const std::uint8_t *buffer = nullptr;
  std::size_t size = 0;
};

enum class Use;
/// Code without a note, to be replayed as it is.
struct ForeignModule {
  std::string binary; ///< path of the object that it came from
  const void *image = nullptr;
  std::size_t size = 0;
  std::string format;        ///< "cubin" or "ptx"
  int architecture = 0;      ///< 90; 0 if it isn't known
  const void *ptx = nullptr; ///< what a cubin was made of, where it came with it
  std::size_t ptxSize = 0;
};

class Kernel; // counts of one kernel; lives as long as the recorder
class Shape;  // counts of one kernel with one geometry

/// What to do with one launch.
struct Decision {
  Kernel *kernel = nullptr;
  Shape *shape = nullptr;
  std::uint64_t ordinal = 0; ///< of this launch among the kernel's, from 0
  Geometry geometry;
  bool record = false;
  bool heldOut = false;
  Use use{};         ///< the recorder's own
  bool time = false; ///< take its device time and hand it to timed()
};

class Capture; // a launch between its prologue and its epilogue
struct DeleteCapture {
  void operator()(Capture *capture) const;
};
using CapturePointer = std::unique_ptr<Capture, DeleteCapture>;

/// Counts every launch, picks those to record, and writes them. Any thread may call. It never throws.
///
///   Decision decision = recorder.launching(kernel, geometry, arguments);
///   if (decision.record) {          // with launches, copies and frees held back and the device idle
///     auto capture = recorder.before(decision, arguments, size, globals);
///     … launch, wait …
///     if (capture) recorder.after(std::move(capture), time);
///   }
///   if (decision.time) recorder.timed(decision, time);
class Recorder {
public:
  /// Opens the pack; when that fails, says so once and from then on only counts.
  Recorder(const Settings &settings, const ProcessInfo &process, Memory &memory);
  ~Recorder();

  /// Writes the note's module if it isn't in the pack yet.
  void addModule(const Note &note);
  /// A module without a note, of which no code is kept.
  void addForeignModule(const std::string &module, const std::string &binary);
  /// One whose code is kept. Returns its id, which is that of its content.
  std::string addForeignModule(const ForeignModule &module);

  Kernel &addKernel(const KernelDescription &description);

  Decision launching(Kernel &kernel, const Geometry &geometry, const Arguments &arguments);
  void timed(const Decision &decision, std::uint64_t nanoseconds);
  /// Counts the launch as not recordable, for `reason`.
  void refuse(const Decision &decision, const std::string &reason);

  /// The prologue; null when the launch turned out not to be recordable (which is then counted).
  CapturePointer before(const Decision &decision, const void *arguments, std::size_t argumentsSize,
                        const std::vector<GlobalVariable> &globals);
  /// The epilogue. `time` is the launch's device time in nanoseconds, 0 if unknown.
  void after(CapturePointer capture, std::uint64_t time);
  /// Drops a capture whose launch failed or didn't end in time, and counts the launch as not recordable.
  void abandon(CapturePointer capture, const std::string &reason);

  /// Writes the last counts and `end`. Later calls of any member do nothing.
  void finish();
  /// In a forked child: from here on nothing is written, and no member waits for a thread.
  void detachAfterFork();

private:
  class Implementation;
  std::unique_ptr<Implementation> implementation;
};

} // namespace r3
