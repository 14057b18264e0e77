// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA runtime's state on the cpu device: memory, what is registered, the recording, the last error.
// Every operation is finished when its call returns, so streams order nothing.
#ifndef R3CPU_CUDART_RUNTIME_H
#define R3CPU_CUDART_RUNTIME_H

#include "abi.h"
#include "engine.h"
#include "registry.h"

#include "r3core/arena.h"
#include "r3core/log.h"
#include "r3core/recorder.h"
#include "r3core/settings.h"

#include <map>
#include <mutex>

namespace r3::cpu::cudart {

/// Host memory that the program made known to the device (cudaHostRegister).
class HostRanges {
public:
  void add(const void *start, size_t size);
  bool remove(const void *start);
  bool holds(const void *address) const;
  std::vector<ForeignRange> foreign() const;

private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> ranges_;
};

/// Memory as the recorder sees it: it is all the host's.
class RecordedMemory : public Memory {
public:
  RecordedMemory(Arena &arena, HostRanges &ranges) : arena_(arena), ranges_(ranges) {}
  std::vector<Allocation> allocations() override { return arena_.allocations(); }
  std::vector<ForeignRange> foreign() override { return ranges_.foreign(); }
  const uint8_t *view(uint64_t address, size_t) override {
    return reinterpret_cast<const uint8_t *>(address);
  }

private:
  Arena &arena_;
  HostRanges &ranges_;
};

class Runtime {
public:
  static Runtime &instance();
  /// Null in a process that never called the runtime: a shell or an mpirun into which it was preloaded, too.
  static Runtime *used();

  Registry &registry() { return registry_; }
  Arena &arena() { return arena_; }
  HostRanges &hostRanges() { return host_ranges_; }
  /// Held while memory is read or written, so that snapshots are of one moment.
  std::recursive_mutex &gate() { return gate_; }

  /// Runs a kernel; `arguments[i]` points to the value of parameter i. Throws EngineError.
  void launch(const void *stub, Dim3 grid, Dim3 block, size_t shared, void **arguments);
  /// Ends the recording.
  void finish();
  void detachAfterFork();

private:
  Runtime();
  r3::Kernel &recordedKernel(Function &function);
  std::vector<GlobalVariable> globalsOf(Function &function);

  Settings settings_;
  HostPages pages_;
  Arena arena_;
  HostRanges host_ranges_;
  Registry registry_;
  std::recursive_mutex gate_;
  RecordedMemory memory_;
  std::unique_ptr<Recorder> recorder_;
};

/// Sets the calling thread's last error and gives it back.
Error remember(Error error);
Error lastError();
void clearError();

/// Runs `body`, turns what it throws into the thread's last error and one message.
template <typename Body> Error entry(Body body);

/// Says what went wrong and gives the cudaError_t for it.
Error report(const EngineError &error);

template <typename Body> Error entry(Body body) {
  try {
    return remember(body());
  } catch (const EngineError &error) {
    return remember(report(error));
  } catch (const std::bad_alloc &) {
    return remember(MemoryAllocation);
  }
}

} // namespace r3::cpu::cudart

#endif
