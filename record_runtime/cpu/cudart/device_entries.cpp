// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Devices: there is one, number 0, and it says so in CUDA's terms.
#include "runtime.h"

#include <cstring>
#include <unistd.h>

using namespace r3::cpu;
using namespace r3::cpu::cudart;

namespace {

constexpr int kRuntimeVersion = 13000;
constexpr size_t kSharedPerBlock = 48 * 1024;
constexpr int kRegisters = 65536;
constexpr int kThreadsPerMultiprocessor = 2048;

int workers() { return static_cast<int>(Engine::instance().workers()); }

// Programs choose code by these: those of the architecture whose IR is lowered.
constexpr int kMajor = 9;
constexpr int kMinor = 0;

template <typename Properties> void describe(Properties &p) {
  std::memset(&p, 0, sizeof p);
  std::strncpy(p.name, "R3 cpu device", sizeof p.name - 1);
  p.global_memory = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
  p.shared_per_block = kSharedPerBlock;
  p.shared_per_block_optin = kMaxSharedPerBlock;
  p.shared_per_multiprocessor = kMaxSharedPerBlock;
  p.registers_per_block = kRegisters;
  p.registers_per_multiprocessor = kRegisters;
  p.warp_size = R3CPU_WARP_SIZE;
  p.memory_pitch = 2147483647;
  p.max_threads_per_block = kMaxThreadsPerBlock;
  for (int axis = 0; axis < 3; ++axis) {
    p.max_threads[axis] = static_cast<int>(kMaxBlockExtent[axis]);
    p.max_grid[axis] = static_cast<int>(kMaxGridExtent[axis]);
  }
  p.constant_memory = 65536;
  p.major = kMajor;
  p.minor = kMinor;
  p.multiprocessors = workers();
  p.integrated = 1;
  p.can_map_host_memory = 1;
  p.concurrent_kernels = 0;
  p.unified_addressing = 1;
  p.max_threads_per_multiprocessor = kThreadsPerMultiprocessor;
  p.max_blocks_per_multiprocessor = 32;
  p.managed_memory = 1;
  p.concurrent_managed_access = 1;
  p.pageable_memory_access = 1;
  p.host_native_atomics = 1;
  p.host_register = 1;
}

struct AttributeValue {
  int attribute;
  int value;
};

// cudaDeviceAttr, by number; any other is 0: a feature that is not there.
int attributeValue(int attribute) {
  const AttributeValue values[] = {{1, kMaxThreadsPerBlock},
                                   {2, kMaxBlockExtent[0]},
                                   {3, kMaxBlockExtent[1]},
                                   {4, kMaxBlockExtent[2]},
                                   {5, static_cast<int>(kMaxGridExtent[0])},
                                   {6, kMaxGridExtent[1]},
                                   {7, kMaxGridExtent[2]},
                                   {8, kSharedPerBlock},
                                   {9, 65536},
                                   {10, R3CPU_WARP_SIZE},
                                   {11, 2147483647},
                                   {12, kRegisters},
                                   {13, 1000000},
                                   {16, workers()},
                                   {18, 1},
                                   {19, 1},
                                   {36, 1000000},
                                   {37, 64},
                                   {39, kThreadsPerMultiprocessor},
                                   {41, 1},
                                   {75, kMajor},
                                   {76, kMinor},
                                   {81, kMaxSharedPerBlock},
                                   {82, kRegisters},
                                   {83, 1},
                                   {86, 1},
                                   {88, 1},
                                   {89, 1},
                                   {97, kMaxSharedPerBlock},
                                   {99, 1},
                                   {106, 32},
                                   {115, 1}};
  for (const AttributeValue &known : values)
    if (known.attribute == attribute)
      return known.value;
  return 0;
}

Error onDevice(int device) { return device == 0 ? Success : InvalidDevice; }

} // namespace

R3CPU_EXPORT int cudaGetDeviceCount(int *count) {
  *count = 1;
  return remember(Success);
}

R3CPU_EXPORT int cudaGetDevice(int *device) {
  *device = 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaSetDevice(int device) { return remember(onDevice(device)); }
R3CPU_EXPORT int cudaInitDevice(int device, unsigned, unsigned) { return remember(onDevice(device)); }
R3CPU_EXPORT int cudaSetDeviceFlags(unsigned) { return remember(Success); }

R3CPU_EXPORT int cudaGetDeviceFlags(unsigned *flags) {
  *flags = 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaGetDeviceProperties(DeviceProperties13 *properties, int device) {
  return entry([&] {
    if (onDevice(device) == Success)
      describe(*properties);
    return onDevice(device);
  });
}

R3CPU_EXPORT int cudaGetDeviceProperties_v2(DeviceProperties12 *properties, int device) {
  return entry([&] {
    if (onDevice(device) == Success)
      describe(*properties);
    return onDevice(device);
  });
}

R3CPU_EXPORT int cudaDeviceGetAttribute(int *value, int attribute, int device) {
  return entry([&] {
    *value = attributeValue(attribute);
    return onDevice(device);
  });
}

R3CPU_EXPORT int cudaDeviceSynchronize() { return remember(Success); }
R3CPU_EXPORT int cudaThreadSynchronize() { return remember(Success); }
R3CPU_EXPORT int cudaDeviceReset() { return remember(Success); }
R3CPU_EXPORT int cudaDeviceSetCacheConfig(int) { return remember(Success); }
R3CPU_EXPORT int cudaDeviceSetSharedMemConfig(int) { return remember(Success); }
R3CPU_EXPORT int cudaDeviceSetLimit(int, size_t) { return remember(Success); }

R3CPU_EXPORT int cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  *least = 0;
  *greatest = 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaDeviceCanAccessPeer(int *can, int, int) {
  *can = 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaDriverGetVersion(int *version) {
  *version = kRuntimeVersion;
  return remember(Success);
}

R3CPU_EXPORT int cudaRuntimeGetVersion(int *version) {
  *version = kRuntimeVersion;
  return remember(Success);
}

R3CPU_EXPORT int cudaProfilerStart() { return remember(Success); }
R3CPU_EXPORT int cudaProfilerStop() { return remember(Success); }
