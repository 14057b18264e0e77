// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "device_memory.h"
#include "images.h"
#include "r3core/recorder.h"

#include <array>
#include <atomic>
#include <memory>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace r3::cuda {

/// A function that can be launched in one context: which kernel it is, and what a recording needs of it.
struct Target {
  Kernel *kernel = nullptr;
  std::vector<Parameter> parameters;
  std::vector<GlobalVariable> globals; ///< the mutable ones that it can reach
  bool isForeign = false;              ///< its code carries no note: whether it reads textures isn't known
  std::atomic<bool> missedDeadline{false}; ///< a snapshot of it was once waited for in vain
  std::atomic<bool> isLoaded{false};       ///< the driver was asked to load its code
};

/// Everything launched so far, by handle and context. A handle is a CUfunction or a CUkernel cast to one.
class Targets {
public:
  Targets(Images &images, DeviceMemory &memory) : images(images), memory(memory) {}

  Target &find(CUfunction function, CUcontext context, Recorder &recorder);
  /// Something was unloaded: handles may come back with another meaning.
  void forget();
  /// Has the driver load the kernel's code, which it else does, waiting for the device, at the first launch.
  /// False if that can't be told to have happened.
  static bool load(CUfunction function);

private:
  struct Handle {
    CUfunction function;
    CUcontext context;
    bool operator==(const Handle &other) const {
      return function == other.function && context == other.context;
    }
  };
  struct HandleHash {
    std::size_t operator()(const Handle &handle) const {
      return (reinterpret_cast<std::size_t>(handle.function) * 0x9e3779b97f4a7c15) ^
             (reinterpret_cast<std::size_t>(handle.context) >> 4);
    }
  };
  /// A target as one thread remembers it, valid in its generation.
  struct Recent {
    Handle handle;
    std::uint64_t generation;
    Target *target;
  };
  static constexpr unsigned RecentBits = 4, RecentCount = 1 << RecentBits;
  class Function;

  std::unique_ptr<Target> resolve(CUfunction function, Recorder &recorder);
  /// Both return why the kernel isn't recordable, or an empty string.
  std::string placeForeign(const Function &function, const ForeignCode &code, Target &target);
  std::string placeGlobals(const Function &function, const Note &note, const NoteKernel &kernel,
                           Target &target);

  Images &images;
  DeviceMemory &memory;
  std::shared_mutex mutex; // of all below
  std::unordered_map<Handle, std::unique_ptr<Target>, HandleHash> known;
  std::vector<std::unique_ptr<Target>> forgotten; // a launch on another thread may still use one
  std::atomic<std::uint64_t> generation{1};
};

} // namespace r3::cuda
