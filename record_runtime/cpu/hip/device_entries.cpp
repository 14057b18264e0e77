// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's view of the one device: it is the GPU that the program's modules were built for.
#include "cudart/runtime.h"
#include "forward.h"
#include "version.h"

#include "r3core/notes.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace r3::cpu;
using cudart::entry;
using cudart::Error;

namespace {

constexpr size_t kSharedPerBlock = 64 * 1024;
constexpr int kThreadsPerMultiprocessor = 2048;

/// The newest of AMD's architectures that the loaded objects carry modules for, as the registry chooses.
std::string architecture() {
  static r3::NoteIndex notes;
  std::string found;
  int newest = -1;
  for (const r3::Note *note : notes.all()) {
    if (note->architecture.rfind("gfx", 0) != 0)
      continue;
    if (int number = std::atoi(note->architecture.c_str() + 3); number > newest) {
      newest = number;
      found = note->architecture;
    }
  }
  return found.empty() ? "gfx90a" : found;
}

/// "gfx1030" is 10.3, "gfx90a" 9.0: all but the last two digits, and the last but one.
int majorOf(const std::string &name) { return std::atoi(name.substr(3, name.size() - 5).c_str()); }
int minorOf(const std::string &name) { return name[name.size() - 2] - '0'; }

/// Since gfx10 waves have 32 threads by default.
int waveOf(const std::string &name) { return majorOf(name) >= 10 ? 32 : 64; }

Error onDevice(int device) { return device == 0 ? cudart::Success : cudart::InvalidDevice; }

int workers() { return static_cast<int>(Engine::instance().workers()); }

struct AttributeValue {
  int attribute;
  int value;
};

// hipDeviceAttribute_t, by number; any other is 0: a feature that is not there.
int attributeValue(int attribute) {
  std::string name = architecture();
  const AttributeValue values[] = {{3, 1},
                                   {5, 1000000},
                                   {9, 1},
                                   {13, 1},
                                   {15, 1},
                                   {16, 1},
                                   {23, majorOf(name)},
                                   {24, 1},
                                   {25, 32},
                                   {26, kMaxBlockExtent[0]},
                                   {27, kMaxBlockExtent[1]},
                                   {28, kMaxBlockExtent[2]},
                                   {29, static_cast<int>(kMaxGridExtent[0])},
                                   {30, kMaxGridExtent[1]},
                                   {31, kMaxGridExtent[2]},
                                   {55, kMaxBlockExtent[0]},
                                   {56, kMaxThreadsPerBlock},
                                   {57, kThreadsPerMultiprocessor},
                                   {58, 2147483647},
                                   {61, minorOf(name)},
                                   {63, workers()},
                                   {65, 1},
                                   {71, 65536},
                                   {72, 65536},
                                   {74, kSharedPerBlock},
                                   {75, kMaxSharedPerBlock},
                                   {76, kMaxSharedPerBlock},
                                   {83, 65536},
                                   {85, 1},
                                   {87, waveOf(name)},
                                   {10002, kMaxSharedPerBlock}};
  for (const AttributeValue &known : values)
    if (known.attribute == attribute)
      return known.value;
  return 0;
}

} // namespace

extern "C" int cudaGetDeviceProperties_v2(cudart::DeviceProperties12 *properties, int device);

int hip::majorVersion() {
  static const int version = dlopen("libamdhip64.so.5", RTLD_NOLOAD | RTLD_LAZY) ? 5 : 6;
  return version;
}

static void copyName(char (&target)[256], const std::string &name) {
  std::memset(target, 0, sizeof target);
  std::strncpy(target, name.c_str(), sizeof target - 1);
}

R3CPU_EXPORT int hipGetDevicePropertiesR0600(hip::DeviceProperties6 *properties, int device) {
  return entry([&] {
    *properties = {};
    if (int error = cudaGetDeviceProperties_v2(&properties->common, device))
      return Error(error);
    std::string name = architecture();
    cudart::DeviceProperties12 &common = properties->common;
    common.shared_per_block = kSharedPerBlock;
    common.warp_size = waveOf(name);
    common.major = majorOf(name);
    common.minor = minorOf(name);
    common.clock_rate = common.memory_clock_rate = 1000000;
    properties->shared_per_multiprocessor = kMaxSharedPerBlock;
    properties->clock_instruction_rate = 1000000;
    copyName(properties->architecture, name);
    return cudart::Success;
  });
}

R3CPU_EXPORT int hipGetDeviceProperties(hip::DeviceProperties5 *properties, int device) {
  return entry([&] {
    hip::DeviceProperties6 all;
    if (int error = hipGetDevicePropertiesR0600(&all, device))
      return Error(error);
    const cudart::DeviceProperties12 &common = all.common;
    hip::DeviceProperties5 &p = *properties;
    p = {};
    std::memcpy(p.name, common.name, sizeof p.name);
    std::memcpy(p.architecture, all.architecture, sizeof p.architecture);
    std::memcpy(p.max_threads, common.max_threads, sizeof p.max_threads);
    std::memcpy(p.max_grid, common.max_grid, sizeof p.max_grid);
    p.global_memory = common.global_memory;
    p.shared_per_block = common.shared_per_block;
    p.registers_per_block = common.registers_per_block;
    p.warp_size = common.warp_size;
    p.max_threads_per_block = common.max_threads_per_block;
    p.clock_rate = common.clock_rate;
    p.memory_clock_rate = common.memory_clock_rate;
    p.constant_memory = common.constant_memory;
    p.major = common.major;
    p.minor = common.minor;
    p.multiprocessors = common.multiprocessors;
    p.max_threads_per_multiprocessor = common.max_threads_per_multiprocessor;
    p.clock_instruction_rate = all.clock_instruction_rate;
    p.shared_per_multiprocessor = all.shared_per_multiprocessor;
    p.can_map_host_memory = common.can_map_host_memory;
    p.integrated = common.integrated;
    p.memory_pitch = common.memory_pitch;
    p.managed_memory = common.managed_memory;
    p.concurrent_managed_access = common.concurrent_managed_access;
    p.pageable_memory_access = common.pageable_memory_access;
    return cudart::Success;
  });
}

R3CPU_EXPORT int hipDeviceGetAttribute(int *value, int attribute, int device) {
  return entry([&] {
    *value = attributeValue(attribute);
    return onDevice(device);
  });
}

R3CPU_EXPORT int hipInit(unsigned) { return cudart::remember(cudart::Success); }
R3CPU_EXPORT int hipDriverGetVersion(int *version) {
  *version = hip::majorVersion() == 5 ? 50221153 : 60000000;
  return cudart::remember(cudart::Success);
}
R3CPU_EXPORT int hipRuntimeGetVersion(int *version) { return hipDriverGetVersion(version); }
R3CPU_EXPORT int hipDeviceGet(int *device, int ordinal) {
  *device = ordinal;
  return cudart::remember(onDevice(ordinal));
}
R3CPU_EXPORT int hipDeviceGetName(char *name, int size, int device) {
  std::strncpy(name, "R3 cpu device", static_cast<size_t>(size));
  return cudart::remember(onDevice(device));
}
R3CPU_EXPORT int hipDeviceTotalMem(size_t *bytes, int device) {
  return entry([&] {
    hip::DeviceProperties6 all;
    int error = hipGetDevicePropertiesR0600(&all, device);
    *bytes = all.common.global_memory;
    return Error(error);
  });
}
R3CPU_EXPORT int hipDeviceComputeCapability(int *major, int *minor, int device) {
  *major = majorOf(architecture());
  *minor = minorOf(architecture());
  return cudart::remember(onDevice(device));
}

R3CPU_FORWARD(hipGetDeviceCount, cudaGetDeviceCount, (int *count), (count))
R3CPU_FORWARD(hipGetDevice, cudaGetDevice, (int *device), (device))
R3CPU_FORWARD(hipSetDevice, cudaSetDevice, (int device), (device))
R3CPU_FORWARD(hipSetDeviceFlags, cudaSetDeviceFlags, (unsigned flags), (flags))
R3CPU_FORWARD(hipGetDeviceFlags, cudaGetDeviceFlags, (unsigned *flags), (flags))
R3CPU_FORWARD(hipDeviceSynchronize, cudaDeviceSynchronize, (), ())
R3CPU_FORWARD(hipDeviceReset, cudaDeviceReset, (), ())
R3CPU_FORWARD(hipDeviceSetCacheConfig, cudaDeviceSetCacheConfig, (int preference), (preference))
R3CPU_FORWARD(hipDeviceSetSharedMemConfig, cudaDeviceSetSharedMemConfig, (int config), (config))
R3CPU_FORWARD(hipDeviceSetLimit, cudaDeviceSetLimit, (int limit, size_t value), (limit, value))
R3CPU_FORWARD(hipDeviceGetStreamPriorityRange, cudaDeviceGetStreamPriorityRange, (int *least, int *greatest),
              (least, greatest))
R3CPU_FORWARD(hipDeviceCanAccessPeer, cudaDeviceCanAccessPeer, (int *can, int device, int peer),
              (can, device, peer))
R3CPU_FORWARD(hipGetLastError, cudaGetLastError, (), ())
R3CPU_FORWARD(hipPeekAtLastError, cudaPeekAtLastError, (), ())
R3CPU_FORWARD(hipProfilerStart, cudaProfilerStart, (), ())
R3CPU_FORWARD(hipProfilerStop, cudaProfilerStop, (), ())

extern "C" const char *cudaGetErrorName(int error);
extern "C" const char *cudaGetErrorString(int error);

/// CUDA's "cudaErrorInvalidValue" is HIP's "hipErrorInvalidValue"; some have another name.
R3CPU_EXPORT const char *hipGetErrorName(int error) {
  static thread_local char name[64];
  switch (error) {
  case cudart::MemoryAllocation:
    return "hipErrorOutOfMemory";
  case cudart::InitializationError:
    return "hipErrorNotInitialized";
  case cudart::InvalidKernelImage:
    return "hipErrorInvalidImage";
  case cudart::InvalidResourceHandle:
    return "hipErrorInvalidHandle";
  default:
    break;
  }
  const char *own = cudaGetErrorName(error);
  if (std::strncmp(own, "cuda", 4) != 0)
    return own;
  std::strncpy(name, "hip", sizeof name);
  std::strncpy(name + 3, own + 4, sizeof name - 4);
  return name;
}
R3CPU_EXPORT const char *hipGetErrorString(int error) { return cudaGetErrorString(error); }
