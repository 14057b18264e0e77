// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's memory: allocation, copies, fills, symbols.
#include "cudart/runtime.h"
#include "forward.h"
#include "version.h"

#include <algorithm>

using namespace r3::cpu;
using cudart::Copy3D;
using cudart::Dim3;
using cudart::entry;
using cudart::Extent;
using cudart::PitchedPointer;
using cudart::Runtime;

R3CPU_FORWARD(hipMalloc, cudaMalloc, (void **pointer, size_t size), (pointer, size))
R3CPU_FORWARD(hipMallocManaged, cudaMallocManaged, (void **pointer, size_t size, unsigned flags),
              (pointer, size, flags))
R3CPU_FORWARD(hipHostMalloc, cudaHostAlloc, (void **pointer, size_t size, unsigned flags),
              (pointer, size, flags))
R3CPU_FORWARD(hipMallocAsync, cudaMallocAsync, (void **pointer, size_t size, void *stream),
              (pointer, size, stream))
R3CPU_FORWARD(hipMallocPitch, cudaMallocPitch, (void **pointer, size_t *pitch, size_t width, size_t height),
              (pointer, pitch, width, height))
R3CPU_FORWARD(hipMalloc3D, cudaMalloc3D, (PitchedPointer * pointer, Extent extent), (pointer, extent))
R3CPU_FORWARD(hipFree, cudaFree, (void *pointer), (pointer))
R3CPU_FORWARD(hipHostFree, cudaFreeHost, (void *pointer), (pointer))
R3CPU_FORWARD(hipFreeAsync, cudaFreeAsync, (void *pointer, void *stream), (pointer, stream))
R3CPU_FORWARD(hipHostRegister, cudaHostRegister, (void *pointer, size_t size, unsigned flags),
              (pointer, size, flags))
R3CPU_FORWARD(hipHostUnregister, cudaHostUnregister, (void *pointer), (pointer))
R3CPU_FORWARD(hipHostGetDevicePointer, cudaHostGetDevicePointer, (void **device, void *host, unsigned flags),
              (device, host, flags))
R3CPU_FORWARD(hipMemGetInfo, cudaMemGetInfo, (size_t *free, size_t *total), (free, total))
R3CPU_FORWARD(hipMemcpy, cudaMemcpy, (void *target, const void *source, size_t size, int kind),
              (target, source, size, kind))
R3CPU_FORWARD(hipMemcpyAsync, cudaMemcpyAsync,
              (void *target, const void *source, size_t size, int kind, void *stream),
              (target, source, size, kind, stream))
R3CPU_FORWARD(hipMemcpyPeer, cudaMemcpyPeer,
              (void *target, int target_device, const void *source, int source_device, size_t size),
              (target, target_device, source, source_device, size))
R3CPU_FORWARD(hipMemcpy2D, cudaMemcpy2D,
              (void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
               size_t height, int kind),
              (target, target_pitch, source, source_pitch, width, height, kind))
R3CPU_FORWARD(hipMemcpy2DAsync, cudaMemcpy2DAsync,
              (void *target, size_t target_pitch, const void *source, size_t source_pitch, size_t width,
               size_t height, int kind, void *stream),
              (target, target_pitch, source, source_pitch, width, height, kind, stream))
R3CPU_FORWARD(hipMemcpy3D, cudaMemcpy3D, (const Copy3D *parameters), (parameters))
R3CPU_FORWARD(hipMemcpy3DAsync, cudaMemcpy3DAsync, (const Copy3D *parameters, void *stream),
              (parameters, stream))
R3CPU_FORWARD(hipMemcpyToSymbol, cudaMemcpyToSymbol,
              (const void *symbol, const void *source, size_t size, size_t offset, int kind),
              (symbol, source, size, offset, kind))
R3CPU_FORWARD(hipMemcpyToSymbolAsync, cudaMemcpyToSymbolAsync,
              (const void *symbol, const void *source, size_t size, size_t offset, int kind, void *stream),
              (symbol, source, size, offset, kind, stream))
R3CPU_FORWARD(hipMemcpyFromSymbol, cudaMemcpyFromSymbol,
              (void *target, const void *symbol, size_t size, size_t offset, int kind),
              (target, symbol, size, offset, kind))
R3CPU_FORWARD(hipMemcpyFromSymbolAsync, cudaMemcpyFromSymbolAsync,
              (void *target, const void *symbol, size_t size, size_t offset, int kind, void *stream),
              (target, symbol, size, offset, kind, stream))
R3CPU_FORWARD(hipGetSymbolAddress, cudaGetSymbolAddress, (void **address, const void *symbol),
              (address, symbol))
R3CPU_FORWARD(hipGetSymbolSize, cudaGetSymbolSize, (size_t *size, const void *symbol), (size, symbol))
R3CPU_FORWARD(hipMemset, cudaMemset, (void *target, int value, size_t size), (target, value, size))
R3CPU_FORWARD(hipMemsetAsync, cudaMemsetAsync, (void *target, int value, size_t size, void *stream),
              (target, value, size, stream))
R3CPU_FORWARD(hipMemset2D, cudaMemset2D, (void *target, size_t pitch, int value, size_t width, size_t height),
              (target, pitch, value, width, height))
R3CPU_FORWARD(hipMemset2DAsync, cudaMemset2DAsync,
              (void *target, size_t pitch, int value, size_t width, size_t height, void *stream),
              (target, pitch, value, width, height, stream))
R3CPU_FORWARD(hipMemset3D, cudaMemset3D, (PitchedPointer target, int value, Extent extent),
              (target, value, extent))

// Other names for the same.
R3CPU_EXPORT int hipMallocHost(void **pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }
R3CPU_EXPORT int hipHostAlloc(void **pointer, size_t size, unsigned flags) {
  return hipHostMalloc(pointer, size, flags);
}
R3CPU_EXPORT int hipMemAllocHost(void **pointer, size_t size) { return hipHostMalloc(pointer, size, 0); }
R3CPU_EXPORT int hipFreeHost(void *pointer) { return hipHostFree(pointer); }
R3CPU_EXPORT int hipExtMallocWithFlags(void **pointer, size_t size, unsigned) {
  return hipMalloc(pointer, size);
}

R3CPU_EXPORT int hipMemcpyWithStream(void *target, const void *source, size_t size, int kind, void *) {
  return hipMemcpy(target, source, size, kind);
}
R3CPU_EXPORT int hipMemcpyHtoD(void *target, void *source, size_t size) {
  return hipMemcpy(target, source, size, 1);
}
R3CPU_EXPORT int hipMemcpyDtoH(void *target, void *source, size_t size) {
  return hipMemcpy(target, source, size, 2);
}
R3CPU_EXPORT int hipMemcpyDtoD(void *target, void *source, size_t size) {
  return hipMemcpy(target, source, size, 3);
}
R3CPU_EXPORT int hipMemcpyHtoDAsync(void *target, void *source, size_t size, void *) {
  return hipMemcpy(target, source, size, 1);
}
R3CPU_EXPORT int hipMemcpyDtoHAsync(void *target, void *source, size_t size, void *) {
  return hipMemcpy(target, source, size, 2);
}
R3CPU_EXPORT int hipMemcpyDtoDAsync(void *target, void *source, size_t size, void *) {
  return hipMemcpy(target, source, size, 3);
}

template <typename Element> static int fillElements(void *target, Element value, size_t count) {
  return entry([&] {
    if (!target && count)
      return cudart::InvalidValue;
    std::lock_guard lock(Runtime::instance().gate());
    std::fill_n(static_cast<Element *>(target), count, value);
    return cudart::Success;
  });
}

R3CPU_EXPORT int hipMemsetD8(void *target, unsigned char value, size_t count) {
  return fillElements(target, value, count);
}
R3CPU_EXPORT int hipMemsetD8Async(void *target, unsigned char value, size_t count, void *) {
  return fillElements(target, value, count);
}
R3CPU_EXPORT int hipMemsetD16(void *target, unsigned short value, size_t count) {
  return fillElements(target, value, count);
}
R3CPU_EXPORT int hipMemsetD16Async(void *target, unsigned short value, size_t count, void *) {
  return fillElements(target, value, count);
}
R3CPU_EXPORT int hipMemsetD32(void *target, int value, size_t count) {
  return fillElements(target, value, count);
}
R3CPU_EXPORT int hipMemsetD32Async(void *target, int value, size_t count, void *) {
  return fillElements(target, value, count);
}

// ROCm 6 renumbered the kinds of memory.
static int kindOf(cudart::MemoryType kind) {
  return hip::majorVersion() == 5 ? kind - cudart::HostMemory : kind;
}

R3CPU_EXPORT int hipPointerGetAttributes(hip::PointerAttributes *attributes, const void *pointer) {
  return entry([&] {
    *attributes = {};
    auto *plain = const_cast<void *>(pointer);
    if (Runtime::instance().arena().find(reinterpret_cast<uint64_t>(pointer)))
      attributes->type = kindOf(cudart::DeviceMemory);
    else if (Runtime::instance().hostRanges().holds(pointer))
      attributes->type = kindOf(cudart::HostMemory);
    else
      return cudart::InvalidValue;
    attributes->device_pointer = plain;
    attributes->host_pointer = plain;
    return cudart::Success;
  });
}

R3CPU_EXPORT int hipMemGetAddressRange(void **base, size_t *size, void *pointer) {
  auto allocation = Runtime::instance().arena().find(reinterpret_cast<uint64_t>(pointer));
  if (!allocation)
    return cudart::remember(cudart::Error(500)); // hipErrorNotFound
  if (base)
    *base = reinterpret_cast<void *>(allocation->address);
  if (size)
    *size = allocation->size;
  return cudart::remember(cudart::Success);
}

R3CPU_EXPORT int hipMemPrefetchAsync(const void *, size_t, int, void *) {
  return cudart::remember(cudart::Success);
}
R3CPU_EXPORT int hipMemAdvise(const void *, size_t, int, int) { return cudart::remember(cudart::Success); }
