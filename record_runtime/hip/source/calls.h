// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's own entries, behind those that this library has in their place.
#pragma once

#include <cstddef>
#include <cstdint>

#define R3_HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace r3::hip {

using Error = int;
constexpr Error Success = 0, InvalidValue = 1, OutOfMemory = 2;

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

/// The entry of that name in the libraries behind this one; null without.
void *nextEntry(const char *name);

/// That entry as a function of this type. `Function` is what the caller knows of it.
template <typename Function> Function *next(const char *name) {
  return reinterpret_cast<Function *>(nextEntry(name));
}

/// Entries that this library calls for itself.
struct Calls {
  Error (*hipMemcpy)(void *, const void *, std::size_t, int);
  Error (*hipDeviceSynchronize)();
  Error (*hipStreamSynchronize)(void *);
  Error (*hipStreamIsCapturing)(void *, int *);
  Error (*hipGetDevice)(int *);
  Error (*hipRuntimeGetVersion)(int *);
  Error (*hipGetSymbolAddress)(void **, const void *);
  Error (*hipEventCreate)(void **);
  Error (*hipEventDestroy)(void *);
  Error (*hipEventRecord)(void *, void *);
  Error (*hipEventQuery)(void *);
  Error (*hipEventElapsedTime)(float *, void *, void *);
  Error (*hipMemAddressReserve)(void **, std::size_t, std::size_t, void *, unsigned long long);
  Error (*hipMemAddressFree)(void *, std::size_t);
  Error (*hipMemGetAllocationGranularity)(std::size_t *, const AllocationProperties *, int);
  Error (*hipMemCreate)(void **, std::size_t, const AllocationProperties *, unsigned long long);
  Error (*hipMemRelease)(void *);
  Error (*hipMemMap)(void *, std::size_t, std::size_t, void *, unsigned long long);
  Error (*hipMemUnmap)(void *, std::size_t);
  Error (*hipMemSetAccess)(void *, std::size_t, const Access *, std::size_t);
};

/// Null where the runtime has no such entry; hipMem… for virtual memory may be missing.
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

} // namespace r3::hip
