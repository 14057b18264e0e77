// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration, launches, and what programs ask about kernels.
#include "runtime.h"

#include <algorithm>
#include <vector>

using namespace r3::cpu;
using namespace r3::cpu::cudart;

namespace {

struct PushedConfiguration {
  Dim3 grid;
  Dim3 block;
  size_t shared;
  void *stream;
};

// kernel<<<…>>>(…) pushes its configuration, and the stub it calls pops it.
thread_local std::vector<PushedConfiguration> pushed;

int launch(const void *stub, Dim3 grid, Dim3 block, void **arguments, size_t shared) {
  return entry([&] {
    Runtime::instance().launch(stub, grid, block, shared, arguments);
    return Success;
  });
}

} // namespace

R3CPU_EXPORT void **__cudaRegisterFatBinary(void *wrapper) {
  return reinterpret_cast<void **>(Runtime::instance().registry().addBinary(wrapper));
}

R3CPU_EXPORT void __cudaRegisterFatBinaryEnd(void **) {}

R3CPU_EXPORT void __cudaUnregisterFatBinary(void **) {}

R3CPU_EXPORT void __cudaRegisterFunction(void **binary, const char *stub, char *, const char *name, int,
                                         void *, void *, void *, void *, int *) {
  Runtime::instance().registry().addFunction(reinterpret_cast<Binary *>(binary), stub, name);
}

R3CPU_EXPORT void __cudaRegisterVar(void **binary, char *shadow, char *, const char *name, int, size_t, int,
                                    int) {
  Runtime::instance().registry().addVariable(reinterpret_cast<Binary *>(binary), shadow, name);
}

R3CPU_EXPORT char __cudaInitModule(void **) { return 0; }

R3CPU_EXPORT unsigned __cudaPushCallConfiguration(Dim3 grid, Dim3 block, size_t shared, void *stream) {
  pushed.push_back({grid, block, shared, stream});
  return 0;
}

R3CPU_EXPORT int __cudaPopCallConfiguration(Dim3 *grid, Dim3 *block, size_t *shared, void *stream) {
  if (pushed.empty())
    return remember(InvalidConfiguration);
  const PushedConfiguration &top = pushed.back();
  *grid = top.grid;
  *block = top.block;
  *shared = top.shared;
  *static_cast<void **>(stream) = top.stream;
  pushed.pop_back();
  return Success;
}

R3CPU_EXPORT int cudaLaunchKernel(const void *stub, Dim3 grid, Dim3 block, void **arguments, size_t shared,
                                  void *) {
  return launch(stub, grid, block, arguments, shared);
}
R3CPU_PER_THREAD(cudaLaunchKernel, _ptsz)

R3CPU_EXPORT int cudaLaunchKernelExC(const LaunchConfiguration *configuration, const void *stub,
                                     void **arguments) {
  return launch(stub, configuration->grid, configuration->block, arguments, configuration->shared);
}
R3CPU_PER_THREAD(cudaLaunchKernelExC, _ptsz)

R3CPU_EXPORT int cudaFuncGetAttributes(FunctionAttributes *attributes, const void *stub) {
  return entry([&] {
    const r3cpu_kernel_entry &kernel = *Runtime::instance().registry().function(stub).kernel->entry;
    *attributes = {};
    attributes->shared_bytes = kernel.static_shared;
    attributes->max_threads = static_cast<int>(kernel.max_threads ? kernel.max_threads : kMaxThreadsPerBlock);
    attributes->registers = 32;
    attributes->ptx_version = 90;
    attributes->binary_version = 90;
    attributes->max_dynamic_shared = static_cast<int>(kMaxSharedPerBlock - kernel.static_shared);
    return Success;
  });
}

// Dynamic shared memory needs no permission here; cache preferences mean nothing.
R3CPU_EXPORT int cudaFuncSetAttribute(const void *stub, int, int) {
  return entry([&] {
    Runtime::instance().registry().function(stub);
    return Success;
  });
}

R3CPU_EXPORT int cudaFuncSetCacheConfig(const void *, int) { return remember(Success); }
R3CPU_EXPORT int cudaFuncSetSharedMemConfig(const void *, int) { return remember(Success); }

R3CPU_EXPORT int cudaFuncGetName(const char **name, const void *stub) {
  return entry([&] {
    *name = Runtime::instance().registry().function(stub).kernel->entry->name;
    return Success;
  });
}

// A worker runs one block at a time; what programs derive from this number is a grid size.
R3CPU_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, const void *stub,
                                                                        int block_size, size_t, unsigned) {
  return entry([&] {
    Runtime::instance().registry().function(stub);
    if (block_size < 1 || block_size > static_cast<int>(kMaxThreadsPerBlock))
      return InvalidValue;
    *blocks = std::max(1, 2048 / block_size);
    return Success;
  });
}

R3CPU_EXPORT int cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *stub, int block_size,
                                                               size_t shared) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, stub, block_size, shared, 0);
}

R3CPU_EXPORT int cudaOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *stub, int, int) {
  return entry([&] {
    *bytes = kMaxSharedPerBlock - Runtime::instance().registry().function(stub).kernel->entry->static_shared;
    return Success;
  });
}
