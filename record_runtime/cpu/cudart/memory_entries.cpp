// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory: allocation, copies, fills, symbols. Device, managed and pinned memory all come from the arena.
#include "runtime.h"

#include <cstring>
#include <unistd.h>

using namespace r3;
using namespace r3::cpu;
using namespace r3::cpu::cudart;

namespace {

constexpr size_t kPitchAlignment = 512;

size_t pitchOf(size_t width) { return (width + kPitchAlignment - 1) / kPitchAlignment * kPitchAlignment; }

Error allocate(void **pointer, size_t size) {
  if (!pointer)
    return InvalidValue;
  *pointer = nullptr;
  if (size == 0)
    return Success;
  Arena &arena = Runtime::instance().arena();
  if (!arena.reserved())
    throw EngineError(R3CPU_OUT_OF_MEMORY,
                      "the addresses of the cpu device's memory are in use by this process: while it "
                      "is recorded, R3_RECORD_ARENA_BASE sets another range");
  *pointer = reinterpret_cast<void *>(arena.allocate(size));
  return *pointer ? Success : MemoryAllocation;
}

Error release(void *pointer) {
  if (!pointer)
    return Success;
  std::lock_guard lock(Runtime::instance().gate());
  return Runtime::instance().arena().release(reinterpret_cast<uint64_t>(pointer)) ? Success : InvalidValue;
}

Error copy(void *target, const void *source, size_t size) {
  if (size == 0)
    return Success;
  if (!target || !source)
    return InvalidValue;
  std::lock_guard lock(Runtime::instance().gate());
  std::memmove(target, source, size);
  return Success;
}

Error copyRows(char *target, size_t target_pitch, const char *source, size_t source_pitch, size_t width,
               size_t height) {
  if (width > target_pitch || width > source_pitch)
    return Error(12); // cudaErrorInvalidPitchValue
  for (size_t row = 0; row < height; ++row)
    if (Error error = copy(target + row * target_pitch, source + row * source_pitch, width))
      return error;
  return Success;
}

char *at(const PitchedPointer &pointer, const Position &position, size_t slice) {
  return static_cast<char *>(pointer.pointer) + (position.z + slice) * pointer.pitch * pointer.ysize +
         position.y * pointer.pitch + position.x;
}

Error copy3D(const Copy3D &parameters) {
  if (parameters.source_array || parameters.target_array)
    throw EngineError(R3CPU_BAD_LAUNCH, "cudaMemcpy3D with CUDA arrays is not part of the cpu device");
  for (size_t slice = 0; slice < parameters.extent.depth; ++slice)
    if (Error error =
            copyRows(at(parameters.target, parameters.target_position, slice), parameters.target.pitch,
                     at(parameters.source, parameters.source_position, slice), parameters.source.pitch,
                     parameters.extent.width, parameters.extent.height))
      return error;
  return Success;
}

Error fill(void *target, int value, size_t size) {
  if (size == 0)
    return Success;
  if (!target)
    return InvalidValue;
  std::lock_guard lock(Runtime::instance().gate());
  std::memset(target, value, size);
  return Success;
}

char *within(const void *symbol, size_t size, size_t offset) {
  VariableMemory memory = Runtime::instance().registry().variable(symbol);
  if (offset > memory.size || size > memory.size - offset)
    throw EngineError(R3CPU_BAD_LAUNCH, "a copy of " + std::to_string(size) + " bytes at offset " +
                                            std::to_string(offset) + " goes beyond a device variable of " +
                                            std::to_string(memory.size) + " bytes");
  return static_cast<char *>(memory.address) + offset;
}

} // namespace

R3CPU_EXPORT int cudaMalloc(void **pointer, size_t size) {
  return entry([&] { return allocate(pointer, size); });
}

R3CPU_EXPORT int cudaMallocManaged(void **pointer, size_t size, unsigned) {
  return entry([&] { return allocate(pointer, size); });
}

R3CPU_EXPORT int cudaMallocHost(void **pointer, size_t size) {
  return entry([&] { return allocate(pointer, size); });
}

R3CPU_EXPORT int cudaHostAlloc(void **pointer, size_t size, unsigned) {
  return entry([&] { return allocate(pointer, size); });
}

R3CPU_EXPORT int cudaMallocAsync(void **pointer, size_t size, void *) {
  return entry([&] { return allocate(pointer, size); });
}
R3CPU_PER_THREAD(cudaMallocAsync, _ptsz)

R3CPU_EXPORT int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  return entry([&] {
    *pitch = pitchOf(width);
    return allocate(pointer, *pitch * height);
  });
}

R3CPU_EXPORT int cudaMalloc3D(PitchedPointer *pointer, Extent extent) {
  return entry([&] {
    size_t pitch = pitchOf(extent.width);
    *pointer = {nullptr, pitch, extent.width, extent.height};
    return allocate(&pointer->pointer, pitch * extent.height * extent.depth);
  });
}

R3CPU_EXPORT int cudaFree(void *pointer) {
  return entry([&] { return release(pointer); });
}

R3CPU_EXPORT int cudaFreeHost(void *pointer) {
  return entry([&] { return release(pointer); });
}

R3CPU_EXPORT int cudaFreeAsync(void *pointer, void *) {
  return entry([&] { return release(pointer); });
}
R3CPU_PER_THREAD(cudaFreeAsync, _ptsz)

R3CPU_EXPORT int cudaHostRegister(void *pointer, size_t size, unsigned) {
  Runtime::instance().hostRanges().add(pointer, size);
  return remember(Success);
}

R3CPU_EXPORT int cudaHostUnregister(void *pointer) {
  return remember(Runtime::instance().hostRanges().remove(pointer) ? Success : InvalidValue);
}

R3CPU_EXPORT int cudaHostGetDevicePointer(void **device, void *host, unsigned) {
  *device = host;
  return remember(Success);
}

R3CPU_EXPORT int cudaMemGetInfo(size_t *free, size_t *total) {
  auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  *free = static_cast<size_t>(sysconf(_SC_AVPHYS_PAGES)) * page;
  *total = static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * page;
  return remember(Success);
}

R3CPU_EXPORT int cudaPointerGetAttributes(PointerAttributes *attributes, const void *pointer) {
  *attributes = {};
  auto *plain = const_cast<void *>(pointer);
  if (Runtime::instance().arena().find(reinterpret_cast<uint64_t>(pointer)))
    attributes->type = DeviceMemory;
  else if (Runtime::instance().hostRanges().holds(pointer))
    attributes->type = HostMemory;
  attributes->device_pointer = attributes->type == Unregistered ? nullptr : plain;
  attributes->host_pointer = plain;
  return remember(Success);
}

R3CPU_EXPORT int cudaMemcpy(void *target, const void *source, size_t size, int) {
  return entry([&] { return copy(target, source, size); });
}
R3CPU_PER_THREAD(cudaMemcpy, _ptds)

R3CPU_EXPORT int cudaMemcpyAsync(void *target, const void *source, size_t size, int, void *) {
  return entry([&] { return copy(target, source, size); });
}
R3CPU_PER_THREAD(cudaMemcpyAsync, _ptsz)

R3CPU_EXPORT int cudaMemcpyPeer(void *target, int, const void *source, int, size_t size) {
  return entry([&] { return copy(target, source, size); });
}

R3CPU_EXPORT int cudaMemcpy2D(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                              size_t width, size_t height, int) {
  return entry([&] {
    return copyRows(static_cast<char *>(target), target_pitch, static_cast<const char *>(source),
                    source_pitch, width, height);
  });
}
R3CPU_PER_THREAD(cudaMemcpy2D, _ptds)

R3CPU_EXPORT int cudaMemcpy2DAsync(void *target, size_t target_pitch, const void *source, size_t source_pitch,
                                   size_t width, size_t height, int kind, void *) {
  return cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind);
}
R3CPU_PER_THREAD(cudaMemcpy2DAsync, _ptsz)

R3CPU_EXPORT int cudaMemcpy3D(const Copy3D *parameters) {
  return entry([&] { return copy3D(*parameters); });
}
R3CPU_PER_THREAD(cudaMemcpy3D, _ptds)

R3CPU_EXPORT int cudaMemcpy3DAsync(const Copy3D *parameters, void *) { return cudaMemcpy3D(parameters); }
R3CPU_PER_THREAD(cudaMemcpy3DAsync, _ptsz)

R3CPU_EXPORT int cudaMemcpyToSymbol(const void *symbol, const void *source, size_t size, size_t offset, int) {
  return entry([&] { return copy(within(symbol, size, offset), source, size); });
}
R3CPU_PER_THREAD(cudaMemcpyToSymbol, _ptds)

R3CPU_EXPORT int cudaMemcpyToSymbolAsync(const void *symbol, const void *source, size_t size, size_t offset,
                                         int kind, void *) {
  return cudaMemcpyToSymbol(symbol, source, size, offset, kind);
}
R3CPU_PER_THREAD(cudaMemcpyToSymbolAsync, _ptsz)

R3CPU_EXPORT int cudaMemcpyFromSymbol(void *target, const void *symbol, size_t size, size_t offset, int) {
  return entry([&] { return copy(target, within(symbol, size, offset), size); });
}
R3CPU_PER_THREAD(cudaMemcpyFromSymbol, _ptds)

R3CPU_EXPORT int cudaMemcpyFromSymbolAsync(void *target, const void *symbol, size_t size, size_t offset,
                                           int kind, void *) {
  return cudaMemcpyFromSymbol(target, symbol, size, offset, kind);
}
R3CPU_PER_THREAD(cudaMemcpyFromSymbolAsync, _ptsz)

R3CPU_EXPORT int cudaGetSymbolAddress(void **address, const void *symbol) {
  return entry([&] {
    *address = Runtime::instance().registry().variable(symbol).address;
    return Success;
  });
}

R3CPU_EXPORT int cudaGetSymbolSize(size_t *size, const void *symbol) {
  return entry([&] {
    *size = Runtime::instance().registry().variable(symbol).size;
    return Success;
  });
}

R3CPU_EXPORT int cudaMemset(void *target, int value, size_t size) {
  return entry([&] { return fill(target, value, size); });
}
R3CPU_PER_THREAD(cudaMemset, _ptds)

R3CPU_EXPORT int cudaMemsetAsync(void *target, int value, size_t size, void *) {
  return cudaMemset(target, value, size);
}
R3CPU_PER_THREAD(cudaMemsetAsync, _ptsz)

R3CPU_EXPORT int cudaMemset2D(void *target, size_t pitch, int value, size_t width, size_t height) {
  return entry([&] {
    for (size_t row = 0; row < height; ++row)
      if (Error error = fill(static_cast<char *>(target) + row * pitch, value, width))
        return error;
    return Success;
  });
}
R3CPU_PER_THREAD(cudaMemset2D, _ptds)

R3CPU_EXPORT int cudaMemset2DAsync(void *target, size_t pitch, int value, size_t width, size_t height,
                                   void *) {
  return cudaMemset2D(target, pitch, value, width, height);
}
R3CPU_PER_THREAD(cudaMemset2DAsync, _ptsz)

R3CPU_EXPORT int cudaMemset3D(PitchedPointer target, int value, Extent extent) {
  return entry([&] {
    for (size_t slice = 0; slice < extent.depth; ++slice)
      for (size_t row = 0; row < extent.height; ++row)
        if (Error error = fill(at(target, {0, row, 0}, slice), value, extent.width))
          return error;
    return Success;
  });
}

// Memory is where it is.
R3CPU_EXPORT int cudaMemPrefetchAsync(const void *, size_t, ...) { return remember(Success); }
R3CPU_EXPORT int cudaMemAdvise(const void *, size_t, ...) { return remember(Success); }
