// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of the CUDA runtime's binary interface that the cpu device implements. No CUDA header is needed
// to build it; tests compare these layouts with a toolkit's own.
#ifndef R3CPU_CUDART_ABI_H
#define R3CPU_CUDART_ABI_H

#include <cstddef>
#include <cstdint>

namespace r3::cpu::cudart {

/// cudaError_t: values that programs may see.
enum Error : int {
  Success = 0,
  InvalidValue = 1,
  MemoryAllocation = 2,
  InitializationError = 3,
  InvalidConfiguration = 9,
  InvalidSymbol = 13,
  InvalidMemcpyDirection = 21,
  InvalidDeviceFunction = 98,
  NoDevice = 100,
  InvalidDevice = 101,
  InvalidKernelImage = 200,
  InvalidResourceHandle = 400,
  NotReady = 600,
  IllegalAddress = 700,
  PeerAccessAlreadyEnabled = 704,
  Assert = 710,
  LaunchFailure = 719,
  NotSupported = 801,
  Unknown = 999
};

/// cudaMemcpyKind.
enum CopyKind : int {
  HostToHost = 0,
  HostToDevice = 1,
  DeviceToHost = 2,
  DeviceToDevice = 3,
  DefaultKind = 4
};

/// cudaMemoryType.
enum MemoryType : int { Unregistered = 0, HostMemory = 1, DeviceMemory = 2, ManagedMemory = 3 };

struct Dim3 {
  unsigned x, y, z;
};

struct Extent {
  size_t width, height, depth;
};

struct Position {
  size_t x, y, z;
};

struct PitchedPointer {
  void *pointer;
  size_t pitch;
  size_t xsize;
  size_t ysize;
};

struct Copy3D {
  void *source_array;
  Position source_position;
  PitchedPointer source;
  void *target_array;
  Position target_position;
  PitchedPointer target;
  Extent extent;
  int kind;
};

struct PointerAttributes {
  int type;
  int device;
  void *device_pointer;
  void *host_pointer;
  long reserved[8];
};

struct FunctionAttributes {
  size_t shared_bytes;
  size_t constant_bytes;
  size_t local_bytes;
  int max_threads;
  int registers;
  int ptx_version;
  int binary_version;
  int cache_mode;
  int max_dynamic_shared;
  int shared_carveout;
  int cluster_must_be_set;
  int cluster_width, cluster_height, cluster_depth;
  int cluster_policy;
  int non_portable_cluster;
  int reserved[16];
};

struct LaunchConfiguration {
  Dim3 grid;
  Dim3 block;
  size_t shared;
  void *stream;
  void *attributes;
  unsigned attribute_count;
};

/// Texture and surface limits, the same in both layouts and all zero: there are none.
struct TextureLimits {
  int texture_2d[2], texture_2d_mipmap[2], texture_2d_linear[3], texture_2d_gather[2], texture_3d[3],
      texture_3d_alternate[3], texture_cubemap, texture_1d_layered[2], texture_2d_layered[3],
      texture_cubemap_layered[2], surface_1d, surface_2d[2], surface_3d[3], surface_1d_layered[2],
      surface_2d_layered[3], surface_cubemap, surface_cubemap_layered[2];
};

/// cudaDeviceProp of CUDA 12 (cudaGetDeviceProperties_v2).
struct DeviceProperties12 {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t global_memory;
  size_t shared_per_block;
  int registers_per_block;
  int warp_size;
  size_t memory_pitch;
  int max_threads_per_block;
  int max_threads[3];
  int max_grid[3];
  int clock_rate;
  size_t constant_memory;
  int major;
  int minor;
  size_t texture_alignment;
  size_t texture_pitch_alignment;
  int device_overlap;
  int multiprocessors;
  int kernel_timeout;
  int integrated;
  int can_map_host_memory;
  int compute_mode;
  int texture_1d, texture_1d_mipmap, texture_1d_linear;
  TextureLimits textures;
  size_t surface_alignment;
  int concurrent_kernels;
  int ecc;
  int pci_bus, pci_device, pci_domain;
  int tcc_driver;
  int async_engines;
  int unified_addressing;
  int memory_clock_rate;
  int memory_bus_width;
  int l2_cache_size;
  int persisting_l2_max;
  int max_threads_per_multiprocessor;
  int stream_priorities;
  int global_l1_cache, local_l1_cache;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int managed_memory;
  int multi_gpu_board, multi_gpu_board_group;
  int host_native_atomics;
  int single_to_double_ratio;
  int pageable_memory_access;
  int concurrent_managed_access;
  int compute_preemption;
  int host_pointer_for_registered;
  int cooperative_launch;
  int cooperative_multi_device_launch;
  size_t shared_per_block_optin;
  int pageable_uses_host_tables;
  int direct_managed_access;
  int max_blocks_per_multiprocessor;
  int access_policy_window;
  size_t reserved_shared_per_block;
  int host_register;
  int other[12];
  int reserved[63];
};
static_assert(sizeof(DeviceProperties12) == 1032, "the size that CUDA 12 has");

/// cudaDeviceProp of CUDA 13.
struct DeviceProperties13 {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luid_mask;
  size_t global_memory;
  size_t shared_per_block;
  int registers_per_block;
  int warp_size;
  size_t memory_pitch;
  int max_threads_per_block;
  int max_threads[3];
  int max_grid[3];
  size_t constant_memory;
  int major;
  int minor;
  size_t texture_alignment;
  size_t texture_pitch_alignment;
  int multiprocessors;
  int integrated;
  int can_map_host_memory;
  int texture_1d, texture_1d_mipmap;
  TextureLimits textures;
  size_t surface_alignment;
  int concurrent_kernels;
  int ecc;
  int pci_bus, pci_device, pci_domain;
  int tcc_driver;
  int async_engines;
  int unified_addressing;
  int memory_bus_width;
  int l2_cache_size;
  int persisting_l2_max;
  int max_threads_per_multiprocessor;
  int stream_priorities;
  int global_l1_cache, local_l1_cache;
  size_t shared_per_multiprocessor;
  int registers_per_multiprocessor;
  int managed_memory;
  int multi_gpu_board, multi_gpu_board_group;
  int host_native_atomics;
  int pageable_memory_access;
  int concurrent_managed_access;
  int compute_preemption;
  int host_pointer_for_registered;
  int cooperative_launch;
  size_t shared_per_block_optin;
  int pageable_uses_host_tables;
  int direct_managed_access;
  int max_blocks_per_multiprocessor;
  int access_policy_window;
  size_t reserved_shared_per_block;
  int host_register;
  int other[19];
  int reserved[56];
};

} // namespace r3::cpu::cudart

#define R3CPU_EXPORT extern "C" __attribute__((visibility("default")))

/// Also exports an entry under the name that per-thread default streams use: launches are synchronous, so
/// they are one.
#define R3CPU_PER_THREAD(NAME, SUFFIX)                                                                       \
  extern "C" __attribute__((visibility("default"), alias(#NAME))) decltype(NAME) NAME##SUFFIX;

#endif
