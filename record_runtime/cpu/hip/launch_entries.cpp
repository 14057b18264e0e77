// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's registration and launches.
#include "cudart/runtime.h"
#include "forward.h"

#include <algorithm>
#include <cstring>

using namespace r3::cpu;
using cudart::Dim3;
using cudart::entry;
using cudart::Runtime;

extern "C" {
void **__cudaRegisterFatBinary(void *wrapper);
unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream);
int cudaEventRecord(void *event, void *stream);
}

R3CPU_EXPORT void **__hipRegisterFatBinary(void *wrapper) { return __cudaRegisterFatBinary(wrapper); }
R3CPU_EXPORT void __hipUnregisterFatBinary(void **) {}

R3CPU_EXPORT void __hipRegisterFunction(void **binary, const void *handle, char *, const char *name, unsigned,
                                        void *, void *, void *, void *, int *) {
  Runtime::instance().registry().addFunction(reinterpret_cast<cudart::Binary *>(binary), handle, name);
}

R3CPU_EXPORT void __hipRegisterVar(void **binary, void *shadow, char *, char *name, int, size_t, int, int) {
  Runtime::instance().registry().addVariable(reinterpret_cast<cudart::Binary *>(binary), shadow, name);
}

// The variable of the host is a pointer to the memory, and so is the module's. What it points to is the
// device's from the start, and the module's pointer is set when its module is loaded.
R3CPU_EXPORT void __hipRegisterManagedVar(void **binary, void **pointer, void *initial, const char *name,
                                          size_t size, unsigned) {
  entry([&] {
    *pointer = reinterpret_cast<void *>(Runtime::instance().arena().allocate(size));
    if (!*pointer)
      return cudart::MemoryAllocation;
    std::memcpy(*pointer, initial, size);
    Runtime::instance().registry().addManaged(reinterpret_cast<cudart::Binary *>(binary), name, *pointer);
    return cudart::Success;
  });
}

R3CPU_EXPORT void __hipRegisterTexture(void **, void *, char *, char *, int, int, int) {}
R3CPU_EXPORT void __hipRegisterSurface(void **, void *, char *, char *, int, int) {}

R3CPU_EXPORT int __hipPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream) {
  return static_cast<int>(__cudaPushCallConfiguration(grid, block, shared, stream));
}
R3CPU_EXPORT int hipConfigureCall(Dim3 grid, Dim3 block, size_t shared, void *stream) {
  return __hipPushCallConfiguration(grid, block, shared, stream);
}
R3CPU_FORWARD(__hipPopCallConfiguration, __cudaPopCallConfiguration,
              (Dim3 * grid, Dim3 *block, size_t *shared, void *stream), (grid, block, shared, stream))

R3CPU_FORWARD(hipLaunchKernel, cudaLaunchKernel,
              (const void *handle, Dim3 grid, Dim3 block, void **arguments, size_t shared, void *stream),
              (handle, grid, block, arguments, shared, stream))
R3CPU_EXPORT int hipLaunchKernel_spt(const void *handle, Dim3 grid, Dim3 block, void **arguments,
                                     size_t shared, void *stream) {
  return hipLaunchKernel(handle, grid, block, arguments, shared, stream);
}

R3CPU_EXPORT int hipExtLaunchKernel(const void *handle, Dim3 grid, Dim3 block, void **arguments,
                                    size_t shared, void *stream, void *start, void *stop, int) {
  if (start)
    cudaEventRecord(start, stream);
  int error = hipLaunchKernel(handle, grid, block, arguments, shared, stream);
  if (stop)
    cudaEventRecord(stop, stream);
  return error;
}

R3CPU_EXPORT int hipFuncGetAttributes(hip::FunctionAttributes *attributes, const void *handle) {
  return entry([&] {
    const r3cpu_kernel_entry &kernel = *Runtime::instance().registry().function(handle).kernel->entry;
    *attributes = {};
    attributes->shared_bytes = kernel.static_shared;
    attributes->max_threads = static_cast<int>(kernel.max_threads ? kernel.max_threads : kMaxThreadsPerBlock);
    attributes->registers = 32;
    attributes->max_dynamic_shared = static_cast<int>(kMaxSharedPerBlock - kernel.static_shared);
    return cudart::Success;
  });
}

R3CPU_FORWARD(hipFuncSetAttribute, cudaFuncSetAttribute, (const void *handle, int attribute, int value),
              (handle, attribute, value))
R3CPU_FORWARD(hipFuncSetCacheConfig, cudaFuncSetCacheConfig, (const void *handle, int preference),
              (handle, preference))
R3CPU_FORWARD(hipFuncSetSharedMemConfig, cudaFuncSetSharedMemConfig, (const void *handle, int config),
              (handle, config))
R3CPU_FORWARD(hipOccupancyMaxActiveBlocksPerMultiprocessor, cudaOccupancyMaxActiveBlocksPerMultiprocessor,
              (int *blocks, const void *handle, int block_size, size_t shared),
              (blocks, handle, block_size, shared))
R3CPU_FORWARD(hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags,
              (int *blocks, const void *handle, int block_size, size_t shared, unsigned flags),
              (blocks, handle, block_size, shared, flags))

R3CPU_EXPORT int hipOccupancyMaxPotentialBlockSize(int *grid, int *block, const void *handle, size_t,
                                                   int limit) {
  return entry([&] {
    const r3cpu_kernel_entry &kernel = *Runtime::instance().registry().function(handle).kernel->entry;
    uint32_t most =
        std::min(kMaxThreadsPerBlock, kernel.max_threads ? kernel.max_threads : kMaxThreadsPerBlock);
    *block = limit > 0 ? std::min(limit, static_cast<int>(most)) : static_cast<int>(most);
    *grid = static_cast<int>(Engine::instance().workers()) * std::max(1, 2048 / *block);
    return cudart::Success;
  });
}
