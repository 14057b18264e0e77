// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own entries, behind those that this library has in their place.
#pragma once

#include <cstddef>
#include <cstdint>

#define R3_HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace r3::hip {

using Error = int;
constexpr Error Success = 0, InvalidValue = 1, OutOfMemory = 2, NotSupported = 801;

/// The default stream of the calling thread; entries named _spt mean it by null.
inline void *const StreamPerThread = reinterpret_cast<void *>(2);

/// hipMemLocation: a device by its number.
struct Location {
  int type = 1;
  int device = 0;
};

/// hipMemAllocationProp since ROCm 5.3.
struct AllocationProperties {
  int type = 1; // pinned
  int handle_type = 0;
  Location location;
  void *windows = nullptr;
  unsigned char compression = 0, rdma = 0;
  unsigned short usage = 0;
};

/// hipMemAccessDesc
struct Access {
  Location location;
  int flags = 3; // read and write
};

struct LaunchDim3 {
  std::uint32_t x, y, z;
};

/// The entry of that name in the libraries behind this one; null without. Also finds a runtime that the
/// program loaded for a part of itself alone (RTLD_LOCAL), as interpreters load their modules.
void *nextEntry(const char *name);

/// That entry as a function of this type. `Function` is what the caller knows of it.
template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(nextEntry(name));
}

/// Calls the runtime's entry, or says that it has none.
template <typename Function, typename... Arguments> Error callReal(Function *real, Arguments... arguments) {
  return real ? real(arguments...) : NotSupported;
}

#define R3_HIP_CALLS(F)                                                                                      \
  F(hipMemcpy, (void *, const void *, std::size_t, int))                                                     \
  F(hipDeviceSynchronize, ())                                                                                \
  F(hipStreamIsCapturing, (void *, int *))                                                                   \
  F(hipGetDevice, (int *))                                                                                   \
  F(hipSetDevice, (int))                                                                                     \
  F(hipRuntimeGetVersion, (int *))                                                                           \
  F(hipGetLastError, ())                                                                                     \
  F(hipPeekAtLastError, ())                                                                                  \
  F(hipGetSymbolAddress, (void **, const void *))                                                            \
  F(hipMemGetAddressRange, (void **, std::size_t *, void *))                                                 \
  F(hipEventCreate, (void **))                                                                               \
  F(hipEventCreateWithFlags, (void **, unsigned))                                                            \
  F(hipEventDestroy, (void *))                                                                               \
  F(hipEventRecord, (void *, void *))                                                                        \
  F(hipEventQuery, (void *))                                                                                 \
  F(hipEventElapsedTime, (float *, void *, void *))                                                          \
  F(hipMemAddressReserve, (void **, std::size_t, std::size_t, void *, unsigned long long))                   \
  F(hipMemAddressFree, (void *, std::size_t))                                                                \
  F(hipMemGetAllocationGranularity, (std::size_t *, const AllocationProperties *, int))                      \
  F(hipMemCreate, (void **, std::size_t, const AllocationProperties *, unsigned long long))                  \
  F(hipMemRelease, (void *))                                                                                 \
  F(hipMemMap, (void *, std::size_t, std::size_t, void *, unsigned long long))                               \
  F(hipMemUnmap, (void *, std::size_t))                                                                      \
  F(hipMemSetAccess, (void *, std::size_t, const Access *, std::size_t))

/// Entries that this library calls for itself. Null where the runtime has no such entry.
struct Calls {
#define R3_HIP_DECLARE(NAME, PARAMETERS) Error(*NAME) PARAMETERS;
  R3_HIP_CALLS(R3_HIP_DECLARE)
#undef R3_HIP_DECLARE
};

const Calls &calls();

/// Marks the time in which this library calls the runtime, or the runtime itself: entries met then are not
/// the program's.
class Inside {
public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside &) = delete;
  static bool already() { return depth > 0; }

private:
  static thread_local int depth;
};

/// The runtime keeps a last error for each thread, which programs look at behind a launch. While one of these
/// lives, this library's own calls may leave there what they like.
class OwnErrors {
public:
  OwnErrors();
  OwnErrors(const OwnErrors &) = delete;
  /// Gives `result` back, which is what the program's own call came to: the last error is as after that
  /// alone.
  Error leave(Error result) const;

  /// The program's last error.
  static Error last();
  /// The same, which it then has seen.
  static Error takeLast();

private:
  const Error before_;
};

} // namespace r3::hip
