// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Compiled alone: R3's layouts against those of a ROCm tree's own header.
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_PLATFORM_HCC__ 1
#include "hip/abi.h"

#include <hip/hip_runtime_api.h>

using namespace r3::cpu::hip;

#define SAME_PLACE(ours, our_field, theirs, their_field)                                                     \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field), #their_field)

#if HIP_VERSION_MAJOR < 6
using Properties = DeviceProperties5;
SAME_PLACE(Properties, pageable_uses_host_tables, hipDeviceProp_t, pageableMemoryAccessUsesHostPageTables);
SAME_PLACE(Properties, global_memory, hipDeviceProp_t, totalGlobalMem);
SAME_PLACE(Properties, warp_size, hipDeviceProp_t, warpSize);
SAME_PLACE(Properties, max_grid, hipDeviceProp_t, maxGridSize);
SAME_PLACE(Properties, multiprocessors, hipDeviceProp_t, multiProcessorCount);
SAME_PLACE(Properties, concurrent_kernels, hipDeviceProp_t, concurrentKernels);
#else
using Properties = DeviceProperties6;
SAME_PLACE(Properties, revision, hipDeviceProp_t, asicRevision);
#endif
static_assert(sizeof(Properties) == sizeof(hipDeviceProp_t));
SAME_PLACE(Properties, architecture, hipDeviceProp_t, gcnArchName);

static_assert(sizeof(FunctionAttributes) == sizeof(hipFuncAttributes));
SAME_PLACE(FunctionAttributes, constant_bytes, hipFuncAttributes, constSizeBytes);
SAME_PLACE(FunctionAttributes, max_threads, hipFuncAttributes, maxThreadsPerBlock);
SAME_PLACE(FunctionAttributes, registers, hipFuncAttributes, numRegs);
SAME_PLACE(FunctionAttributes, shared_bytes, hipFuncAttributes, sharedSizeBytes);

static_assert(sizeof(PointerAttributes) == sizeof(hipPointerAttribute_t));
SAME_PLACE(PointerAttributes, device_pointer, hipPointerAttribute_t, devicePointer);
SAME_PLACE(PointerAttributes, host_pointer, hipPointerAttribute_t, hostPointer);
SAME_PLACE(PointerAttributes, flags, hipPointerAttribute_t, allocationFlags);
