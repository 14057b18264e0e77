// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of HIP's binary interface that differ from CUDA's. Error codes, copies, dimensions and pitched
// memory are the same. No ROCm header is needed to build it; a test compares these layouts with a ROCm tree's
// own.
#ifndef R3CPU_HIP_ABI_H
#define R3CPU_HIP_ABI_H

#include "cudart/abi.h"

namespace r3::cpu::hip {

using cudart::Dim3;
using cudart::Extent;
using cudart::PitchedPointer;

/// hipDeviceProp_t up to ROCm 5.
struct DeviceProperties5 {
  char name[256];
  size_t global_memory;
  size_t shared_per_block;
  int registers_per_block;
  int warp_size;
  int max_threads_per_block;
  int max_threads[3];
  int max_grid[3];
  int clock_rate;
  int memory_clock_rate;
  int memory_bus_width;
  size_t constant_memory;
  int major;
  int minor;
  int multiprocessors;
  int l2_cache_size;
  int max_threads_per_multiprocessor;
  int compute_mode;
  int clock_instruction_rate;
  unsigned features;
  int concurrent_kernels;
  int pci_domain, pci_bus, pci_device;
  size_t shared_per_multiprocessor;
  int multi_gpu_board;
  int can_map_host_memory;
  int old_architecture;
  char architecture[256];
  int integrated;
  int cooperative_launch;
  int cooperative_multi_device_launch;
  int texture_1d_linear, texture_1d, texture_2d[2], texture_3d[3];
  void *memory_flush;
  void *register_flush;
  size_t memory_pitch;
  size_t texture_alignment;
  size_t texture_pitch_alignment;
  int kernel_timeout;
  int ecc;
  int tcc_driver;
  int unmatched[4];
  int large_bar;
  int revision;
  int managed_memory;
  int direct_managed_access;
  int concurrent_managed_access;
  int pageable_memory_access;
  int pageable_uses_host_tables;
};

/// hipDeviceProp_tR0600: CUDA 12's, with room, and AMD's own behind it.
struct DeviceProperties6 {
  cudart::DeviceProperties12 common;
  int hip_reserved[32];
  char architecture[256];
  size_t shared_per_multiprocessor;
  int clock_instruction_rate;
  unsigned features;
  void *memory_flush;
  void *register_flush;
  int unmatched[4];
  int large_bar;
  int revision;
};
static_assert(offsetof(cudart::DeviceProperties12, reserved) + 63 * sizeof(int) ==
                  sizeof(cudart::DeviceProperties12),
              "what follows in HIP begins where CUDA's ends");

struct FunctionAttributes {
  int binary_version;
  int cache_mode;
  size_t constant_bytes;
  size_t local_bytes;
  int max_dynamic_shared;
  int max_threads;
  int registers;
  int shared_carveout;
  int ptx_version;
  size_t shared_bytes;
};

struct PointerAttributes {
  int type;
  int device;
  void *device_pointer;
  void *host_pointer;
  int managed;
  unsigned flags;
};

} // namespace r3::cpu::hip

#endif
