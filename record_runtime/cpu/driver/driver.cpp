// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 on the cpu device, for programs of the CUDA runtime that also ask the driver: about the
// device, its context and its memory. Each entry is the runtime's own; CUresult and cudaError_t have the same
// numbers. There is no machine code that the driver could load, so modules and what belongs to them are
// refused by name.
#include "cudart/abi.h"

#include <cstring>

using namespace r3::cpu::cudart;

extern "C" {
int cudaGetDeviceProperties(DeviceProperties13 *properties, int device);
int cudaDeviceGetAttribute(int *value, int attribute, int device);
int cudaDeviceSynchronize();
int cudaMalloc(void **pointer, size_t size);
int cudaMallocHost(void **pointer, size_t size);
int cudaMallocManaged(void **pointer, size_t size, unsigned flags);
int cudaMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height);
int cudaFree(void *pointer);
int cudaFreeHost(void *pointer);
int cudaMemGetInfo(size_t *free, size_t *total);
int cudaMemcpy(void *target, const void *source, size_t size, int kind);
int cudaMemset(void *target, int value, size_t size);
int cudaStreamCreateWithFlags(void **stream, unsigned flags);
int cudaStreamDestroy(void *stream);
int cudaEventCreateWithFlags(void **event, unsigned flags);
int cudaEventDestroy(void *event);
int cudaEventRecord(void *event, void *stream);
int cudaEventElapsedTime(float *milliseconds, void *start, void *end);
const char *cudaGetErrorString(int error);
}

namespace {

using Address = unsigned long long; // CUdeviceptr

constexpr int DriverVersion = 13000;
char context; // there is one context; its address is its handle

void *pointer(Address address) { return reinterpret_cast<void *>(address); }

int onDevice(int device) { return device == 0 ? Success : InvalidDevice; }

struct ErrorName {
  int error;
  const char *name;
};

// CUresult, as far as these entries give it.
const char *errorName(int error) {
  constexpr ErrorName Names[] = {{Success, "CUDA_SUCCESS"},
                                 {InvalidValue, "CUDA_ERROR_INVALID_VALUE"},
                                 {MemoryAllocation, "CUDA_ERROR_OUT_OF_MEMORY"},
                                 {InitializationError, "CUDA_ERROR_NOT_INITIALIZED"},
                                 {NoDevice, "CUDA_ERROR_NO_DEVICE"},
                                 {InvalidDevice, "CUDA_ERROR_INVALID_DEVICE"},
                                 {InvalidKernelImage, "CUDA_ERROR_INVALID_IMAGE"},
                                 {InvalidResourceHandle, "CUDA_ERROR_INVALID_HANDLE"},
                                 {NotReady, "CUDA_ERROR_NOT_READY"},
                                 {IllegalAddress, "CUDA_ERROR_ILLEGAL_ADDRESS"},
                                 {Assert, "CUDA_ERROR_ASSERT"},
                                 {LaunchFailure, "CUDA_ERROR_LAUNCH_FAILED"},
                                 {NotSupported, "CUDA_ERROR_NOT_SUPPORTED"}};
  for (const ErrorName &known : Names)
    if (known.error == error)
      return known.name;
  return "CUDA_ERROR_UNKNOWN";
}

template <typename T> int give(T *where, T value) {
  if (!where)
    return InvalidValue;
  *where = value;
  return Success;
}

int copy(void *target, const void *source, size_t size) {
  return cudaMemcpy(target, source, size, DefaultKind);
}

template <typename Element> int fill(Address address, Element value, size_t count) {
  if (int error = cudaDeviceSynchronize())
    return error;
  for (size_t i = 0; i < count; ++i)
    std::memcpy(static_cast<char *>(pointer(address)) + i * sizeof value, &value, sizeof value);
  return Success;
}

} // namespace

// Devices.
R3CPU_EXPORT int cuInit(unsigned) { return Success; }
R3CPU_EXPORT int cuDriverGetVersion(int *version) { return give(version, DriverVersion); }
R3CPU_EXPORT int cuDeviceGetCount(int *count) { return give(count, 1); }
R3CPU_EXPORT int cuDeviceGet(int *device, int number) {
  return number == 0 ? give(device, 0) : int(InvalidDevice);
}
R3CPU_EXPORT int cuDeviceGetAttribute(int *value, int attribute, int device) {
  return cudaDeviceGetAttribute(value, attribute, device);
}
R3CPU_EXPORT int cuDeviceGetName(char *name, int size, int device) {
  DeviceProperties13 properties;
  int error = cudaGetDeviceProperties(&properties, device);
  if (error || !name || size <= 0)
    return error ? error : int(InvalidValue);
  std::strncpy(name, properties.name, size_t(size) - 1);
  name[size - 1] = '\0';
  return Success;
}
R3CPU_EXPORT int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  size_t free = 0;
  return onDevice(device) ? onDevice(device) : cudaMemGetInfo(&free, bytes);
}
R3CPU_EXPORT int cuDeviceComputeCapability(int *major, int *minor, int device) {
  constexpr int Major = 75, Minor = 76; // cudaDevAttrComputeCapability…
  int error = cudaDeviceGetAttribute(major, Major, device);
  return error ? error : cudaDeviceGetAttribute(minor, Minor, device);
}

// The context.
R3CPU_EXPORT int cuCtxCreate_v2(void **made, unsigned, int device) {
  return onDevice(device) ? onDevice(device) : give<void *>(made, &context);
}
R3CPU_EXPORT int cuCtxDestroy_v2(void *) { return Success; }
R3CPU_EXPORT int cuCtxGetCurrent(void **current) { return give<void *>(current, &context); }
R3CPU_EXPORT int cuCtxSetCurrent(void *) { return Success; }
R3CPU_EXPORT int cuCtxPushCurrent_v2(void *) { return Success; }
R3CPU_EXPORT int cuCtxPopCurrent_v2(void **popped) {
  return popped ? give<void *>(popped, &context) : int(Success);
}
R3CPU_EXPORT int cuCtxGetDevice(int *device) { return give(device, 0); }
R3CPU_EXPORT int cuCtxGetApiVersion(void *, unsigned *version) { return give(version, 3020u); }
R3CPU_EXPORT int cuCtxSynchronize() { return cudaDeviceSynchronize(); }
R3CPU_EXPORT int cuDevicePrimaryCtxRetain(void **retained, int device) {
  return onDevice(device) ? onDevice(device) : give<void *>(retained, &context);
}
R3CPU_EXPORT int cuDevicePrimaryCtxRelease_v2(int device) { return onDevice(device); }
R3CPU_EXPORT int cuDevicePrimaryCtxSetFlags_v2(int device, unsigned) { return onDevice(device); }
R3CPU_EXPORT int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
  if (int error = onDevice(device))
    return error;
  int error = give(flags, 0u);
  return error ? error : give(active, 1);
}

// Memory: device addresses are the host's, and every copy is done when it returns.
R3CPU_EXPORT int cuMemAlloc_v2(Address *address, size_t size) {
  return cudaMalloc(reinterpret_cast<void **>(address), size);
}
R3CPU_EXPORT int cuMemAllocManaged(Address *address, size_t size, unsigned flags) {
  return cudaMallocManaged(reinterpret_cast<void **>(address), size, flags);
}
R3CPU_EXPORT int cuMemAllocPitch_v2(Address *address, size_t *pitch, size_t width, size_t height, unsigned) {
  return cudaMallocPitch(reinterpret_cast<void **>(address), pitch, width, height);
}
R3CPU_EXPORT int cuMemAllocHost_v2(void **memory, size_t size) { return cudaMallocHost(memory, size); }
R3CPU_EXPORT int cuMemHostAlloc(void **memory, size_t size, unsigned) { return cudaMallocHost(memory, size); }
R3CPU_EXPORT int cuMemFree_v2(Address address) { return cudaFree(pointer(address)); }
R3CPU_EXPORT int cuMemFreeHost(void *memory) { return cudaFreeHost(memory); }
R3CPU_EXPORT int cuMemGetInfo_v2(size_t *free, size_t *total) { return cudaMemGetInfo(free, total); }
R3CPU_EXPORT int cuMemcpy(Address target, Address source, size_t size) {
  return copy(pointer(target), pointer(source), size);
}
R3CPU_EXPORT int cuMemcpyAsync(Address target, Address source, size_t size, void *) {
  return copy(pointer(target), pointer(source), size);
}
R3CPU_EXPORT int cuMemcpyHtoD_v2(Address target, const void *source, size_t size) {
  return copy(pointer(target), source, size);
}
R3CPU_EXPORT int cuMemcpyHtoDAsync_v2(Address target, const void *source, size_t size, void *) {
  return copy(pointer(target), source, size);
}
R3CPU_EXPORT int cuMemcpyDtoH_v2(void *target, Address source, size_t size) {
  return copy(target, pointer(source), size);
}
R3CPU_EXPORT int cuMemcpyDtoHAsync_v2(void *target, Address source, size_t size, void *) {
  return copy(target, pointer(source), size);
}
R3CPU_EXPORT int cuMemcpyDtoD_v2(Address target, Address source, size_t size) {
  return copy(pointer(target), pointer(source), size);
}
R3CPU_EXPORT int cuMemcpyDtoDAsync_v2(Address target, Address source, size_t size, void *) {
  return copy(pointer(target), pointer(source), size);
}
R3CPU_EXPORT int cuMemsetD8_v2(Address address, unsigned char value, size_t count) {
  return cudaMemset(pointer(address), value, count);
}
R3CPU_EXPORT int cuMemsetD16_v2(Address address, unsigned short value, size_t count) {
  return fill(address, value, count);
}
R3CPU_EXPORT int cuMemsetD32_v2(Address address, unsigned value, size_t count) {
  return fill(address, value, count);
}

// Streams and events.
R3CPU_EXPORT int cuStreamCreate(void **stream, unsigned flags) {
  return cudaStreamCreateWithFlags(stream, flags);
}
R3CPU_EXPORT int cuStreamDestroy_v2(void *stream) { return cudaStreamDestroy(stream); }
R3CPU_EXPORT int cuStreamSynchronize(void *) { return cudaDeviceSynchronize(); }
R3CPU_EXPORT int cuStreamQuery(void *) { return cudaDeviceSynchronize(); }
R3CPU_EXPORT int cuStreamGetCtx(void *, void **owner) { return give<void *>(owner, &context); }
R3CPU_EXPORT int cuStreamWaitEvent(void *, void *, unsigned) { return Success; }
R3CPU_EXPORT int cuEventCreate(void **event, unsigned flags) {
  return cudaEventCreateWithFlags(event, flags);
}
R3CPU_EXPORT int cuEventDestroy_v2(void *event) { return cudaEventDestroy(event); }
R3CPU_EXPORT int cuEventRecord(void *event, void *stream) { return cudaEventRecord(event, stream); }
R3CPU_EXPORT int cuEventSynchronize(void *) { return cudaDeviceSynchronize(); }
R3CPU_EXPORT int cuEventQuery(void *) { return cudaDeviceSynchronize(); }
R3CPU_EXPORT int cuEventElapsedTime(float *milliseconds, void *start, void *end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}
R3CPU_EXPORT int cuEventElapsedTime_v2(float *milliseconds, void *start, void *end) {
  return cudaEventElapsedTime(milliseconds, start, end);
}

// Errors, and what profilers listen to.
R3CPU_EXPORT int cuGetErrorName(int error, const char **name) { return give(name, errorName(error)); }
R3CPU_EXPORT int cuGetErrorString(int error, const char **text) {
  return give(text, cudaGetErrorString(error));
}
R3CPU_EXPORT int cuProfilerStart() { return Success; }
R3CPU_EXPORT int cuProfilerStop() { return Success; }
