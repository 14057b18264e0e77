// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Allocation: served from the arena where replay can put it back, passed on and remembered where not.

#include "r3core/log.h"
#include "wrappers.h"

#include <cstdint>

using namespace r3::cuda;

namespace {

const char *const OutsideArena = "memory that the recorder's arena had no room for";

/// From the arena; 0 when it has no room, and the driver is to be asked.
CUdeviceptr fromArena(Session &session, size_t size) { return size ? session.memory.allocate(size) : 0; }

template <Entry E> CUresult allocateAsync(CUdeviceptr *address, size_t size, CUstream stream) {
  Call call;
  if (call.session && address && !call.session->captures.isCapturing(meant<E>(stream)))
    if (CUdeviceptr got = fromArena(*call.session, size)) {
      *address = got;
      return CUDA_SUCCESS;
    }
  CUresult result = callReal<E>(address, size, stream);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, size, "memory of a graph or of the driver's pool", true);
  return result;
}

template <Entry E>
CUresult allocateFromPool(CUdeviceptr *address, size_t size, CUmemoryPool pool, CUstream stream) {
  Call call;
  CUresult result = callReal<E>(address, size, pool, stream);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, size, "memory of the program's own pool", true);
  return result;
}

template <Entry E> CUresult freeAsync(CUdeviceptr address, CUstream stream) {
  Call call;
  if (!call.session)
    return callReal<E>(address, stream);
  auto pass = call.session->pass();
  if (call.session->memory.owns(address) && !call.session->captures.isCapturing(meant<E>(stream)))
    return call.session->memory.releaseInOrder(address, meant<E>(stream));
  call.session->memory.removeForeign(address);
  return callReal<E>(address, stream);
}

void hostMemory(Session &session, void *address, size_t size) {
  // Structs copied to a device often hold host addresses that no kernel follows.
  session.memory.addForeign(reinterpret_cast<std::uint64_t>(address), size, "pinned host memory", false);
}

} // namespace

R3_EXPORT CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *address, size_t size) {
  Call call;
  if (call.session && address)
    if (CUdeviceptr got = fromArena(*call.session, size)) {
      *address = got;
      return CUDA_SUCCESS;
    }
  CUresult result = callReal<Entry::cuMemAlloc_v2>(address, size);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, size, OutsideArena, true);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemAllocPitch_v2(CUdeviceptr *address, size_t *pitch, size_t width,
                                              size_t height, unsigned int elementSize) {
  constexpr size_t PitchAlignment = 512; // what the driver uses on every architecture since Kepler
  Call call;
  bool valid =
      address && pitch && width && height && (elementSize == 4 || elementSize == 8 || elementSize == 16);
  if (call.session && valid) {
    size_t row = (width + PitchAlignment - 1) / PitchAlignment * PitchAlignment, size = 0;
    bool fits = row >= width && !__builtin_mul_overflow(row, height, &size);
    if (CUdeviceptr got = fits ? fromArena(*call.session, size) : 0) {
      *address = got;
      *pitch = row;
      return CUDA_SUCCESS;
    }
  }
  CUresult result = callReal<Entry::cuMemAllocPitch_v2>(address, pitch, width, height, elementSize);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, *pitch * height, OutsideArena, true);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemFree_v2(CUdeviceptr address) {
  Call call;
  if (!call.session)
    return callReal<Entry::cuMemFree_v2>(address);
  auto pass = call.session->pass();
  if (!call.session->memory.owns(address)) {
    call.session->memory.removeForeign(address);
    return callReal<Entry::cuMemFree_v2>(address);
  }
  auto allocation = call.session->memory.find(address);
  if (!allocation || allocation->address != address)
    return CUDA_ERROR_INVALID_VALUE;
  if (call.session->captures.anyActive())
    return CUDA_SUCCESS; // waiting would break the capture, and not waiting would free what is in use: keep
                         // it
  // As the driver does: the memory may be in use by what was launched before.
  CUresult result = driver().cuCtxSynchronize();
  if (result != CUDA_SUCCESS)
    return result;
  call.session->memory.release(address);
  return CUDA_SUCCESS;
}

R3_EXPORT CUresult CUDAAPI cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr address) {
  Call call;
  if (call.session && call.session->memory.owns(address)) {
    auto allocation = call.session->memory.find(address);
    if (!allocation)
      return CUDA_ERROR_NOT_FOUND;
    if (base)
      *base = allocation->address;
    if (size)
      *size = allocation->size;
    return CUDA_SUCCESS;
  }
  return callReal<Entry::cuMemGetAddressRange_v2>(base, size, address);
}

namespace {

/// Ranges are those of the program's allocations, not of the granules that they share.
void correctRange(Session &session, CUpointer_attribute attribute, void *value, CUdeviceptr address) {
  bool isStart = attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR;
  if ((!isStart && attribute != CU_POINTER_ATTRIBUTE_RANGE_SIZE) || !value)
    return;
  auto allocation = session.memory.find(address);
  if (allocation && isStart)
    *static_cast<CUdeviceptr *>(value) = allocation->address;
  else if (allocation)
    *static_cast<std::size_t *>(value) = allocation->size;
}

} // namespace

R3_EXPORT CUresult CUDAAPI cuPointerGetAttribute(void *value, CUpointer_attribute attribute,
                                                 CUdeviceptr address) {
  Call call;
  CUresult result = callReal<Entry::cuPointerGetAttribute>(value, attribute, address);
  if (call.session && result == CUDA_SUCCESS)
    correctRange(*call.session, attribute, value, address);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuPointerGetAttributes(unsigned int count, CUpointer_attribute *attributes,
                                                  void **values, CUdeviceptr address) {
  Call call;
  CUresult result = callReal<Entry::cuPointerGetAttributes>(count, attributes, values, address);
  if (call.session && result == CUDA_SUCCESS)
    for (unsigned i = 0; i < count; ++i)
      correctRange(*call.session, attributes[i], values[i], address);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemGetInfo_v2(size_t *free, size_t *total) {
  Call call;
  CUresult result = callReal<Entry::cuMemGetInfo_v2>(free, total);
  if (call.session && result == CUDA_SUCCESS && free)
    *free += call.session->memory.spareBytes(); // kept for reuse, and free to the program
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemAllocAsync(CUdeviceptr *address, size_t size, CUstream stream) {
  return allocateAsync<Entry::cuMemAllocAsync>(address, size, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemAllocAsync_ptsz(CUdeviceptr *address, size_t size, CUstream stream) {
  return allocateAsync<Entry::cuMemAllocAsync_ptsz>(address, size, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemAllocFromPoolAsync(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                                   CUstream stream) {
  return allocateFromPool<Entry::cuMemAllocFromPoolAsync>(address, size, pool, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemAllocFromPoolAsync_ptsz(CUdeviceptr *address, size_t size, CUmemoryPool pool,
                                                        CUstream stream) {
  return allocateFromPool<Entry::cuMemAllocFromPoolAsync_ptsz>(address, size, pool, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  return freeAsync<Entry::cuMemFreeAsync>(address, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemFreeAsync_ptsz(CUdeviceptr address, CUstream stream) {
  return freeAsync<Entry::cuMemFreeAsync_ptsz>(address, stream);
}

R3_EXPORT CUresult CUDAAPI cuMemAllocManaged(CUdeviceptr *address, size_t size, unsigned int flags) {
  Call call;
  CUresult result = callReal<Entry::cuMemAllocManaged>(address, size, flags);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, size, "managed memory", true);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemAllocHost_v2(void **address, size_t size) {
  Call call;
  if (call.session && address)
    if (void *got = call.session->memory.allocateHost(size))
      return *address = got, CUDA_SUCCESS;
  CUresult result = callReal<Entry::cuMemAllocHost_v2>(address, size);
  if (call.session && result == CUDA_SUCCESS)
    hostMemory(*call.session, *address, size);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemHostAlloc(void **address, size_t size, unsigned int flags) {
  Call call;
  constexpr unsigned int Known = CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP; // not write-combined
  if (call.session && address && !(flags & ~Known))
    if (void *got = call.session->memory.allocateHost(size))
      return *address = got, CUDA_SUCCESS;
  CUresult result = callReal<Entry::cuMemHostAlloc>(address, size, flags);
  if (call.session && result == CUDA_SUCCESS)
    hostMemory(*call.session, *address, size);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemFreeHost(void *address) {
  Call call;
  if (call.session && call.session->memory.ownsHost(address)) {
    auto pass = call.session->pass();
    if (call.session->captures.anyActive())
      return CUDA_SUCCESS; // as with device memory: keep it
    CUresult result = driver().cuCtxSynchronize();
    if (result != CUDA_SUCCESS)
      return result;
    return call.session->memory.releaseHost(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (call.session)
    call.session->memory.removeForeign(reinterpret_cast<std::uint64_t>(address));
  return callReal<Entry::cuMemFreeHost>(address);
}

R3_EXPORT CUresult CUDAAPI cuMemHostRegister_v2(void *address, size_t size, unsigned int flags) {
  Call call;
  CUresult result = callReal<Entry::cuMemHostRegister_v2>(address, size, flags);
  if (call.session && result == CUDA_SUCCESS)
    hostMemory(*call.session, address, size);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemHostUnregister(void *address) {
  Call call;
  if (call.session)
    call.session->memory.removeForeign(reinterpret_cast<std::uint64_t>(address));
  return callReal<Entry::cuMemHostUnregister>(address);
}

/// Registered memory may have another address on the device than on the host.
R3_EXPORT CUresult CUDAAPI cuMemHostGetDevicePointer_v2(CUdeviceptr *onDevice, void *onHost,
                                                        unsigned int flags) {
  Call call;
  CUresult result = callReal<Entry::cuMemHostGetDevicePointer_v2>(onDevice, onHost, flags);
  if (call.session && result == CUDA_SUCCESS && *onDevice != reinterpret_cast<std::uint64_t>(onHost)) {
    CUdeviceptr base = 0;
    std::size_t size = 0;
    if (driver().cuMemGetAddressRange_v2(&base, &size, *onDevice) == CUDA_SUCCESS)
      call.session->memory.addForeign(base, size, "mapped host memory", true);
  }
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemAddressReserve(CUdeviceptr *address, size_t size, size_t alignment,
                                               CUdeviceptr hint, unsigned long long flags) {
  Call call;
  CUresult result = callReal<Entry::cuMemAddressReserve>(address, size, alignment, hint, flags);
  if (call.session && result == CUDA_SUCCESS)
    call.session->memory.addForeign(*address, size, "the program's own virtual memory mapping", true);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuMemAddressFree(CUdeviceptr address, size_t size) {
  Call call;
  if (call.session)
    call.session->memory.removeForeign(address);
  return callReal<Entry::cuMemAddressFree>(address, size);
}

R3_EXPORT CUresult CUDAAPI cuIpcOpenMemHandle_v2(CUdeviceptr *address, CUipcMemHandle handle,
                                                 unsigned int flags) {
  Call call;
  CUresult result = callReal<Entry::cuIpcOpenMemHandle_v2>(address, handle, flags);
  CUdeviceptr base = 0;
  std::size_t size = 0;
  if (call.session && result == CUDA_SUCCESS &&
      driver().cuMemGetAddressRange_v2(&base, &size, *address) == CUDA_SUCCESS)
    call.session->memory.addForeign(base, size, "memory of another process", true);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuIpcCloseMemHandle(CUdeviceptr address) {
  Call call;
  if (call.session)
    call.session->memory.removeForeign(address);
  return callReal<Entry::cuIpcCloseMemHandle>(address);
}

R3_EXPORT CUresult CUDAAPI cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr address) {
  Call call;
  if (call.session && call.session->memory.owns(address))
    r3::message(
        "the program shares device memory with another process (cuIpcGetMemHandle), which recorded memory "
        "can't be; if it fails now, run it without r3 record");
  return callReal<Entry::cuIpcGetMemHandle>(handle, address);
}

/// Virtual memory doesn't follow peer access by itself.
R3_EXPORT CUresult CUDAAPI cuCtxEnablePeerAccess(CUcontext peer, unsigned int flags) {
  Call call;
  CUresult result = callReal<Entry::cuCtxEnablePeerAccess>(peer, flags);
  CUcontext own = nullptr;
  CUdevice ownDevice, peerDevice;
  if (call.session && result == CUDA_SUCCESS && driver().cuCtxGetCurrent(&own) == CUDA_SUCCESS &&
      driver().cuCtxGetDevice(&ownDevice) == CUDA_SUCCESS && driver().cuCtxSetCurrent(peer) == CUDA_SUCCESS) {
    bool known = driver().cuCtxGetDevice(&peerDevice) == CUDA_SUCCESS;
    driver().cuCtxSetCurrent(own);
    if (known)
      call.session->memory.grantAccess(peerDevice, ownDevice);
  }
  return result;
}
