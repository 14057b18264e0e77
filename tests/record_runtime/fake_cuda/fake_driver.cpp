// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A small CUDA driver on host memory, for tests: devices whose single queue runs on a thread of its own.
// Its clock counts what it runs: a kernel takes 10 us a block, and 5 us pass whenever it waits for the host.
//
// FAKE_CUDA_DEVICES: how many there are; they share memory and queue. FAKE_CUDA_HOST_ELSEWHERE: host memory
// has another address on the device. FAKE_CUDA_MEMORY: bytes of device memory. FAKE_CUDA_BLOCKING: every
// launch waits for its end. FAKE_CUDA_NO_WAIT: streams can't wait for a value in memory. FAKE_CUDA_DISCARD:
// nothing is run, at no cost. FAKE_CUDA_NO_COMPILER: no PTX can be loaded. FAKE_CUDA_TRAFFIC: says at the end
// how many bytes were copied to the host. FAKE_CUDA_ALARM: the first query of an event raises SIGALRM.

#include "chunk_kernels.h"
#include "fake_image.h"

#include <cuda.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <vector>

#undef cuGetProcAddress
#undef cuMemcpyBatchAsync

#define FAKE extern "C" __attribute__((visibility("default"))) CUresult CUDAAPI

namespace {

constexpr int ContextMagic = 0x434f4e54, FunctionMagic = 0x46554e43, KernelMagic = 0x4b45524e;
constexpr std::size_t Granularity = std::size_t(2) << 20;

constexpr std::uint64_t BlockTime = 10000, IdleTime = 5000, LoadTime = 1000000; // nanoseconds

/// The device: runs what is queued, in order.
class Queue {
public:
  Queue() : worker([this] { work(); }) { worker.detach(); }

  void push(std::function<void()> task) {
    if (discards)
      return;
    std::lock_guard lock(mutex);
    tasks.push_back(std::move(task));
    ++queued;
    changed.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex);
    auto goal = queued;
    changed.wait(lock, [&] { return done >= goal; });
  }
  std::uint64_t mark() {
    std::lock_guard lock(mutex);
    return queued;
  }
  bool passed(std::uint64_t goal) {
    std::lock_guard lock(mutex);
    return done >= goal;
  }

  std::uint64_t clock = 0; // nanoseconds; its tasks' own
  const bool discards = std::getenv("FAKE_CUDA_DISCARD") != nullptr;

private:
  void work() {
    std::unique_lock lock(mutex);
    for (;;) {
      if (tasks.empty())
        clock += IdleTime;
      changed.wait(lock, [&] { return !tasks.empty(); });
      auto task = std::move(tasks.front());
      tasks.pop_front();
      lock.unlock();
      task();
      lock.lock();
      ++done;
      changed.notify_all();
    }
  }

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::function<void()>> tasks;
  std::uint64_t queued = 0, done = 0;
  std::thread worker;
};

/// How often the primary context was ended, and how often it is held.
std::atomic<int> generation{0}, references{0};

struct Event {
  const int madeIn = generation;
  std::uint64_t goal = 0;
  std::uint64_t time = 0;
};

struct Library {
  const fake::Image *image;
  std::map<std::string, std::vector<std::uint8_t>> globals;
  std::set<const fake::Function *> loaded; ///< as with lazy loading: by cuFuncLoad or the first launch
};

struct Function {
  int magic;
  const fake::Function *function;
  Library *library;
};

struct Device {
  std::mutex mutex;
  Queue queue;
  std::map<CUdeviceptr, std::size_t> allocations, reservations, mappings, registered;
  std::map<std::uint64_t, std::size_t> handles;
  std::uint64_t nextHandle = 1;
  std::size_t inUse = 0, limit = std::size_t(8) << 30;
  std::map<CUstream, int> capturing;
};

Device &device() {
  static Device *only = [] {
    auto *created = new Device;
    if (const char *limit = std::getenv("FAKE_CUDA_MEMORY"))
      created->limit = std::strtoull(limit, nullptr, 0);
    return created;
  }();
  return *only;
}

constexpr int MostDevices = 4;
int contexts[MostDevices] = {ContextMagic, ContextMagic, ContextMagic, ContextMagic};
thread_local CUcontext current = nullptr;
CUcontext contextOf(CUdevice which) { return reinterpret_cast<CUcontext>(&contexts[which]); }
int deviceCount() {
  const char *count = std::getenv("FAKE_CUDA_DEVICES");
  return count ? std::atoi(count) : 1;
}

void *host(CUdeviceptr address) { return reinterpret_cast<void *>(address); }

CUresult allocate(CUdeviceptr *address, std::size_t size) {
  if (!size)
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard lock(device().mutex);
  if (device().inUse + size > device().limit)
    return CUDA_ERROR_OUT_OF_MEMORY;
  void *got = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (got == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(got);
  device().allocations[*address] = size;
  device().inUse += size;
  return CUDA_SUCCESS;
}

CUresult release(CUdeviceptr address) {
  if (!address)
    return CUDA_SUCCESS;
  device().queue.wait();
  std::lock_guard lock(device().mutex);
  auto known = device().allocations.find(address);
  if (known == device().allocations.end())
    return CUDA_ERROR_INVALID_VALUE;
  munmap(host(address), known->second);
  device().inUse -= known->second;
  device().allocations.erase(known);
  return CUDA_SUCCESS;
}

template <typename T> T *as(void *handle, int magic) {
  auto *object = static_cast<T *>(handle);
  return object && object->magic == magic ? object : nullptr;
}
Function *asFunction(CUfunction handle) { return as<Function>(handle, FunctionMagic); }
Function *asKernel(CUkernel handle) { return as<Function>(handle, KernelMagic); }

/// Whether it was not loaded before.
bool loadFunction(Function &function) {
  std::lock_guard lock(device().mutex);
  return function.library->loaded.insert(function.function).second;
}

struct Traffic {
  std::atomic<std::size_t> toHost{0};
  ~Traffic() {
    if (std::getenv("FAKE_CUDA_TRAFFIC"))
      std::fprintf(stderr, "copied to the host: %zu\n", toHost.load());
  }
} traffic;

Library *load(const void *code) {
  std::uint32_t magic;
  if (!std::memcmp(code, "//", 2)) // PTX text: that of the recorder
    return std::getenv("FAKE_CUDA_NO_COMPILER") ? nullptr : new Library{&fake::chunkKernels, {}};
  std::memcpy(&magic, code, 4);
  if (magic == 0x466243b1)
    code = static_cast<const fake::Wrapper *>(code)->data;
  const auto *image = static_cast<const fake::Image *>(code);
  if (image->magic != 0xba55ed50 || std::memcmp(image->tag, "fakecode", 8))
    return nullptr;
  auto *library = new Library{image, {}};
  for (std::size_t i = 0; i < image->globalCount; ++i) {
    const fake::Global &global = image->globals[i];
    const auto *initial = static_cast<const std::uint8_t *>(global.initial);
    library->globals[global.name].assign(initial, initial + global.size);
  }
  return library;
}

CUresult find(Library *library, const char *name, int magic, Function **found) {
  for (std::size_t i = 0; i < library->image->functionCount; ++i)
    if (!std::strcmp(library->image->functions[i].name, name)) {
      *found = new Function{magic, &library->image->functions[i], library};
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult global(Library *library, CUdeviceptr *address, std::size_t *size, const char *name) {
  auto known = library->globals.find(name);
  if (known == library->globals.end())
    return CUDA_ERROR_NOT_FOUND;
  if (address)
    *address = reinterpret_cast<CUdeviceptr>(known->second.data());
  if (size)
    *size = known->second.size();
  return CUDA_SUCCESS;
}

CUresult attribute(int *value, CUfunction_attribute which, const Function *function) {
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (which == CU_FUNC_ATTRIBUTE_PTX_VERSION)
    *value = function->library->image->ptxVersion;
  else if (which == CU_FUNC_ATTRIBUTE_BINARY_VERSION)
    *value = function->library->image->binaryVersion;
  else
    *value = which == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : 0;
  return CUDA_SUCCESS;
}

CUresult parameter(const Function *function, std::size_t index, std::size_t *offset, std::size_t *size) {
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (index >= function->function->parameterCount)
    return CUDA_ERROR_INVALID_VALUE;
  *offset = function->function->parameters[index].offset;
  if (size)
    *size = function->function->parameters[index].size;
  return CUDA_SUCCESS;
}

void *globalOf(const fake::Launch &launch, const char *name) {
  return static_cast<Library *>(launch.library)->globals.at(name).data();
}

/// The argument buffer, copied at the launch as the driver does.
std::vector<std::uint8_t> pack(const fake::Function &function, void **parameters, void **extra) {
  std::vector<std::uint8_t> buffer;
  for (std::size_t i = 0; i < function.parameterCount; ++i) {
    const fake::Parameter &parameter = function.parameters[i];
    buffer.resize(std::max(buffer.size(), parameter.offset + parameter.size));
    if (parameters)
      std::memcpy(buffer.data() + parameter.offset, parameters[i], parameter.size);
  }
  if (!parameters && extra)
    std::memcpy(buffer.data(), extra[1], *static_cast<std::size_t *>(extra[3]));
  return buffer;
}

CUresult launch(CUfunction handle, fake::Extent grid, fake::Extent block, CUstream stream, void **parameters,
                void **extra) {
  Function *function = asFunction(handle);
  if (!function)
    function = asKernel(reinterpret_cast<CUkernel>(handle));
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  if (block.x * block.y * block.z > 1024 || !grid.x || !block.x)
    return CUDA_ERROR_INVALID_VALUE;
  if (device().queue.discards || device().capturing.count(stream))
    return CUDA_SUCCESS;
  if (loadFunction(*function))
    device().queue.push([] { device().queue.clock += LoadTime; });
  auto buffer = std::make_shared<std::vector<std::uint8_t>>(pack(*function->function, parameters, extra));
  device().queue.push([=] {
    std::vector<void *> arguments;
    for (std::size_t i = 0; i < function->function->parameterCount; ++i)
      arguments.push_back(buffer->data() + function->function->parameters[i].offset);
    fake::Launch launch{grid, block, arguments.data(), globalOf, function->library};
    function->function->run(launch);
    device().queue.clock += BlockTime * grid.x;
  });
  if (std::getenv("FAKE_CUDA_BLOCKING"))
    device().queue.wait();
  return CUDA_SUCCESS;
}

} // namespace

FAKE cuInit(unsigned) { return CUDA_SUCCESS; }
FAKE cuDriverGetVersion(int *version) { return *version = 13000, CUDA_SUCCESS; }
FAKE cuDeviceGet(CUdevice *which, int ordinal) {
  return *which = ordinal, ordinal < deviceCount() ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
FAKE cuDeviceGetCount(int *count) { return *count = deviceCount(), CUDA_SUCCESS; }
FAKE cuDeviceGetName(char *name, int size, CUdevice) {
  return std::snprintf(name, size, "Fake GPU"), CUDA_SUCCESS;
}
FAKE cuDeviceTotalMem_v2(std::size_t *size, CUdevice) { return *size = device().limit, CUDA_SUCCESS; }
FAKE cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice) { return std::memset(uuid, 7, sizeof(*uuid)), CUDA_SUCCESS; }
FAKE cuDeviceGetAttribute(int *value, CUdevice_attribute which, CUdevice) {
  switch (which) {
  case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
    return *value = 9, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
  case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
    return *value = 1024, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
    return *value = 32, CUDA_SUCCESS;
  case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
    return *value = 1, CUDA_SUCCESS;
  default:
    return *value = 0, CUDA_SUCCESS;
  }
}
FAKE cuDevicePrimaryCtxRetain(CUcontext *got, CUdevice which) {
  return ++references, *got = contextOf(which), CUDA_SUCCESS;
}
FAKE cuDevicePrimaryCtxRelease_v2(CUdevice) {
  if (--references == 0)
    ++generation;
  return CUDA_SUCCESS;
}
FAKE cuDevicePrimaryCtxReset_v2(CUdevice) { return CUDA_SUCCESS; }
FAKE cuDevicePrimaryCtxSetFlags_v2(CUdevice, unsigned) { return CUDA_SUCCESS; }
FAKE cuDevicePrimaryCtxGetState(CUdevice, unsigned *flags, int *active) {
  return *flags = 0, *active = references > 0, CUDA_SUCCESS;
}
FAKE cuCtxGetCurrent(CUcontext *got) { return *got = current, CUDA_SUCCESS; }
FAKE cuCtxSetCurrent(CUcontext wanted) { return current = wanted, CUDA_SUCCESS; }
FAKE cuCtxPushCurrent_v2(CUcontext wanted) { return current = wanted, CUDA_SUCCESS; }
FAKE cuCtxPopCurrent_v2(CUcontext *got) {
  if (got)
    *got = current;
  return current = nullptr, CUDA_SUCCESS;
}
FAKE cuCtxDestroy_v2(CUcontext) { return CUDA_SUCCESS; }
FAKE cuCtxGetFlags(unsigned *flags) { return *flags = 0, CUDA_SUCCESS; }
FAKE cuCtxGetDevice(CUdevice *which) {
  *which = current ? CUdevice(reinterpret_cast<int *>(current) - contexts) : 0;
  return current ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}
FAKE cuCtxSynchronize() { return device().queue.wait(), CUDA_SUCCESS; }
FAKE cuGetErrorString(CUresult, const char **text) { return *text = "a fake error", CUDA_SUCCESS; }
FAKE cuGetErrorName(CUresult, const char **text) { return *text = "CUDA_ERROR_FAKE", CUDA_SUCCESS; }

FAKE cuMemAlloc_v2(CUdeviceptr *address, std::size_t size) { return allocate(address, size); }
FAKE cuMemFree_v2(CUdeviceptr address) { return release(address); }
FAKE cuMemAllocAsync(CUdeviceptr *address, std::size_t size, CUstream) { return allocate(address, size); }
FAKE cuMemFreeAsync(CUdeviceptr address, CUstream) { return release(address); }
FAKE cuMemAllocManaged(CUdeviceptr *address, std::size_t size, unsigned) { return allocate(address, size); }
FAKE cuMemAllocHost_v2(void **address, std::size_t size) {
  return *address = std::calloc(size, 1), CUDA_SUCCESS;
}
FAKE cuMemHostAlloc(void **address, std::size_t size, unsigned) {
  *address = std::calloc(size, 1);
  std::lock_guard lock(device().mutex);
  device().registered[reinterpret_cast<CUdeviceptr>(*address)] = size;
  return CUDA_SUCCESS;
}
FAKE cuMemFreeHost(void *address) {
  std::lock_guard lock(device().mutex);
  device().registered.erase(reinterpret_cast<CUdeviceptr>(address));
  return std::free(address), CUDA_SUCCESS;
}
FAKE cuMemHostRegister_v2(void *address, std::size_t size, unsigned) {
  std::lock_guard lock(device().mutex);
  device().registered[reinterpret_cast<CUdeviceptr>(address)] = size;
  return CUDA_SUCCESS;
}
FAKE cuMemHostUnregister(void *address) {
  std::lock_guard lock(device().mutex);
  bool known = device().registered.erase(reinterpret_cast<CUdeviceptr>(address));
  return known ? CUDA_SUCCESS : CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED;
}
FAKE cuMemHostGetDevicePointer_v2(CUdeviceptr *to, void *address, unsigned) {
  *to = reinterpret_cast<CUdeviceptr>(address);
  if (std::getenv("FAKE_CUDA_HOST_ELSEWHERE"))
    *to += 4096;
  return CUDA_SUCCESS;
}
FAKE cuMemAllocPitch_v2(CUdeviceptr *address, std::size_t *pitch, std::size_t width, std::size_t height,
                        unsigned) {
  *pitch = (width + 511) / 512 * 512;
  return allocate(address, *pitch * height);
}
FAKE cuExternalMemoryGetMappedBuffer(CUdeviceptr *address, CUexternalMemory,
                                     const CUDA_EXTERNAL_MEMORY_BUFFER_DESC *buffer) {
  return allocate(address, buffer->size);
}
FAKE cuMemAllocFromPoolAsync(CUdeviceptr *address, std::size_t size, CUmemoryPool, CUstream) {
  return allocate(address, size);
}
/// Ranges are those of mappings, as the driver's are: what lies in them it doesn't know.
FAKE cuPointerGetAttribute(void *value, CUpointer_attribute attribute, CUdeviceptr address) {
  std::lock_guard lock(device().mutex);
  for (const auto *ranges : {&device().mappings, &device().registered, &device().allocations})
    for (auto [begin, size] : *ranges)
      if (address - begin < size) {
        if (attribute == CU_POINTER_ATTRIBUTE_RANGE_START_ADDR)
          return *static_cast<CUdeviceptr *>(value) = begin, CUDA_SUCCESS;
        if (attribute == CU_POINTER_ATTRIBUTE_RANGE_SIZE)
          return *static_cast<std::size_t *>(value) = size, CUDA_SUCCESS;
        if (attribute == CU_POINTER_ATTRIBUTE_MEMORY_TYPE)
          return *static_cast<unsigned *>(value) =
                     ranges == &device().registered ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                                       CUDA_SUCCESS;
        return CUDA_ERROR_NOT_SUPPORTED;
      }
  return CUDA_ERROR_INVALID_VALUE;
}
FAKE cuPointerGetAttributes(unsigned count, CUpointer_attribute *attributes, void **values,
                            CUdeviceptr address) {
  for (unsigned i = 0; i < count; ++i)
    if (CUresult result = cuPointerGetAttribute(values[i], attributes[i], address))
      return result;
  return CUDA_SUCCESS;
}
FAKE cuMemGetInfo_v2(std::size_t *free, std::size_t *total) {
  return *free = device().limit - device().inUse, *total = device().limit, CUDA_SUCCESS;
}
FAKE cuMemGetAddressRange_v2(CUdeviceptr *base, std::size_t *size, CUdeviceptr address) {
  std::lock_guard lock(device().mutex);
  for (auto [begin, length] : device().allocations)
    if (address - begin < length) {
      if (base)
        *base = begin;
      if (size)
        *size = length;
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

FAKE cuMemAddressReserve(CUdeviceptr *address, std::size_t size, std::size_t, CUdeviceptr hint,
                         unsigned long long) {
  void *got = mmap(host(hint), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED)
    return CUDA_ERROR_OUT_OF_MEMORY;
  *address = reinterpret_cast<CUdeviceptr>(got);
  std::lock_guard lock(device().mutex);
  device().reservations[*address] = size;
  return CUDA_SUCCESS;
}
FAKE cuMemAddressFree(CUdeviceptr address, std::size_t size) {
  std::lock_guard lock(device().mutex);
  device().reservations.erase(address);
  munmap(host(address), size);
  return CUDA_SUCCESS;
}
FAKE cuMemGetAllocationGranularity(std::size_t *size, const CUmemAllocationProp *,
                                   CUmemAllocationGranularity_flags) {
  return *size = Granularity, CUDA_SUCCESS;
}
FAKE cuMemCreate(CUmemGenericAllocationHandle *handle, std::size_t size, const CUmemAllocationProp *,
                 unsigned long long) {
  std::lock_guard lock(device().mutex);
  if (!size || size % Granularity)
    return CUDA_ERROR_INVALID_VALUE;
  if (device().inUse + size > device().limit)
    return CUDA_ERROR_OUT_OF_MEMORY;
  device().inUse += size;
  *handle = device().nextHandle++;
  device().handles[*handle] = size;
  return CUDA_SUCCESS;
}
FAKE cuMemRelease(CUmemGenericAllocationHandle handle) {
  std::lock_guard lock(device().mutex);
  return device().handles.erase(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
FAKE cuMemMap(CUdeviceptr address, std::size_t size, std::size_t, CUmemGenericAllocationHandle handle,
              unsigned long long) {
  std::lock_guard lock(device().mutex);
  if (address % Granularity || !device().handles.count(handle) || device().handles[handle] != size)
    return CUDA_ERROR_INVALID_VALUE;
  device().mappings[address] = size;
  return CUDA_SUCCESS;
}
FAKE cuMemSetAccess(CUdeviceptr address, std::size_t size, const CUmemAccessDesc *, std::size_t) {
  std::lock_guard lock(device().mutex);
  if (!device().mappings.count(address))
    return CUDA_ERROR_INVALID_VALUE;
  return mprotect(host(address), size, PROT_READ | PROT_WRITE) ? CUDA_ERROR_UNKNOWN : CUDA_SUCCESS;
}
FAKE cuMemUnmap(CUdeviceptr address, std::size_t size) {
  std::lock_guard lock(device().mutex);
  auto known = device().mappings.find(address);
  if (known == device().mappings.end() || known->second != size)
    return CUDA_ERROR_INVALID_VALUE;
  device().mappings.erase(known);
  device().inUse -= size;
  mmap(host(address), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
  return CUDA_SUCCESS;
}

FAKE cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
  device().queue.wait();
  return std::memcpy(host(to), host(from), size), CUDA_SUCCESS;
}
FAKE cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, std::size_t size) {
  device().queue.wait();
  return std::memcpy(host(to), from, size), CUDA_SUCCESS;
}
FAKE cuMemcpyDtoH_v2(void *to, CUdeviceptr from, std::size_t size) {
  traffic.toHost += size;
  device().queue.wait();
  return std::memcpy(to, host(from), size), CUDA_SUCCESS;
}
FAKE cuMemcpyDtoD_v2(CUdeviceptr to, CUdeviceptr from, std::size_t size) { return cuMemcpy(to, from, size); }
FAKE cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, std::size_t size, CUstream) {
  return cuMemcpyHtoD_v2(to, from, size);
}
FAKE cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, std::size_t size, CUstream) {
  return cuMemcpyDtoH_v2(to, from, size);
}
FAKE cuMemsetD8_v2(CUdeviceptr to, unsigned char value, std::size_t count) {
  device().queue.wait();
  return std::memset(host(to), value, count), CUDA_SUCCESS;
}
FAKE cuMemsetD2D8_v2(CUdeviceptr to, std::size_t pitch, unsigned char value, std::size_t width,
                     std::size_t height) {
  device().queue.wait();
  for (std::size_t row = 0; row < height; ++row)
    std::memset(host(to + row * pitch), value, width);
  return CUDA_SUCCESS;
}
FAKE cuMemcpyBatchAsync_v2(CUdeviceptr *to, CUdeviceptr *from, std::size_t *sizes, std::size_t count,
                           CUmemcpyAttributes *, std::size_t *, std::size_t, CUstream) {
  for (std::size_t i = 0; i < count; ++i)
    cuMemcpy(to[i], from[i], sizes[i]);
  return CUDA_SUCCESS;
}
FAKE cuTexObjectCreate(CUtexObject *handle, const CUDA_RESOURCE_DESC *, const CUDA_TEXTURE_DESC *,
                       const CUDA_RESOURCE_VIEW_DESC *) {
  return *handle = 7, CUDA_SUCCESS;
}
FAKE cuTexObjectDestroy(CUtexObject) { return CUDA_SUCCESS; }
FAKE cuMemsetD8Async(CUdeviceptr to, unsigned char value, std::size_t count, CUstream) {
  return cuMemsetD8_v2(to, value, count);
}

FAKE cuEventCreate(CUevent *event, unsigned) {
  return *event = reinterpret_cast<CUevent>(new Event), CUDA_SUCCESS;
}
FAKE cuEventDestroy_v2(CUevent event) {
  device().queue.wait();
  return delete reinterpret_cast<Event *>(event), CUDA_SUCCESS;
}
FAKE cuEventRecord(CUevent handle, CUstream) {
  auto *event = reinterpret_cast<Event *>(handle);
  if (event->madeIn != generation)
    return CUDA_ERROR_INVALID_HANDLE;
  device().queue.push([event] { event->time = device().queue.clock; });
  return event->goal = device().queue.mark(), CUDA_SUCCESS;
}
FAKE cuEventQuery(CUevent handle) {
  static std::atomic<bool> alarmed{std::getenv("FAKE_CUDA_ALARM") == nullptr};
  if (!alarmed.exchange(true))
    raise(SIGALRM);
  if (reinterpret_cast<Event *>(handle)->madeIn != generation)
    return CUDA_ERROR_INVALID_HANDLE;
  return device().queue.passed(reinterpret_cast<Event *>(handle)->goal) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
FAKE cuEventSynchronize(CUevent) { return device().queue.wait(), CUDA_SUCCESS; }
FAKE cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent stop) {
  auto duration = reinterpret_cast<Event *>(stop)->time - reinterpret_cast<Event *>(start)->time;
  return *milliseconds = float(double(duration) * 1e-6), CUDA_SUCCESS;
}
FAKE cuStreamCreate(CUstream *stream, unsigned) {
  return *stream = reinterpret_cast<CUstream>(new int), CUDA_SUCCESS;
}
FAKE cuStreamDestroy_v2(CUstream) { return CUDA_SUCCESS; }
FAKE cuStreamSynchronize(CUstream) { return device().queue.wait(), CUDA_SUCCESS; }
FAKE cuStreamQuery(CUstream) { return CUDA_SUCCESS; }
FAKE cuStreamWaitValue32_v2(CUstream, CUdeviceptr address, cuuint32_t value, unsigned flags) {
  if (std::getenv("FAKE_CUDA_NO_WAIT") || flags != CU_STREAM_WAIT_VALUE_GEQ)
    return CUDA_ERROR_NOT_SUPPORTED;
  device().queue.push([=] {
    auto *word = static_cast<volatile cuuint32_t *>(host(address));
    while (std::int32_t(*word - value) < 0)
      std::this_thread::yield();
  });
  return CUDA_SUCCESS;
}
FAKE cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status) {
  *status =
      device().capturing.count(stream) ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
  return CUDA_SUCCESS;
}
FAKE cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode) {
  return device().capturing[stream] = 1, CUDA_SUCCESS;
}
FAKE cuStreamEndCapture(CUstream stream, CUgraph *graph) {
  device().capturing.erase(stream);
  return *graph = nullptr, CUDA_SUCCESS;
}
FAKE cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *) { return CUDA_SUCCESS; }
FAKE cuGraphLaunch(CUgraphExec, CUstream) { return CUDA_SUCCESS; }

FAKE cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *, void **, unsigned,
                       CUlibraryOption *, void **, unsigned) {
  *library = reinterpret_cast<CUlibrary>(load(code));
  return *library ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
FAKE cuLibraryUnload(CUlibrary) { return CUDA_SUCCESS; }
FAKE cuLibraryGetKernel(CUkernel *kernel, CUlibrary library, const char *name) {
  return find(reinterpret_cast<Library *>(library), name, KernelMagic, reinterpret_cast<Function **>(kernel));
}
FAKE cuLibraryGetModule(CUmodule *module, CUlibrary library) {
  return *module = reinterpret_cast<CUmodule>(library), CUDA_SUCCESS;
}
FAKE cuLibraryGetGlobal(CUdeviceptr *address, std::size_t *size, CUlibrary library, const char *name) {
  return global(reinterpret_cast<Library *>(library), address, size, name);
}
FAKE cuModuleLoadData(CUmodule *module, const void *image) {
  *module = reinterpret_cast<CUmodule>(load(image));
  return *module ? CUDA_SUCCESS : CUDA_ERROR_INVALID_IMAGE;
}
FAKE cuModuleUnload(CUmodule) { return CUDA_SUCCESS; }
FAKE cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  return find(reinterpret_cast<Library *>(module), name, FunctionMagic,
              reinterpret_cast<Function **>(function));
}
FAKE cuModuleGetGlobal_v2(CUdeviceptr *address, std::size_t *size, CUmodule module, const char *name) {
  return global(reinterpret_cast<Library *>(module), address, size, name);
}
FAKE cuKernelGetFunction(CUfunction *function, CUkernel kernel) {
  Function *from = asKernel(kernel);
  if (!from)
    return CUDA_ERROR_INVALID_HANDLE;
  *function = reinterpret_cast<CUfunction>(new Function{FunctionMagic, from->function, from->library});
  return CUDA_SUCCESS;
}
FAKE cuFuncLoad(CUfunction handle) {
  Function *function = asFunction(handle);
  if (!function)
    return CUDA_ERROR_INVALID_HANDLE;
  return loadFunction(*function), CUDA_SUCCESS;
}
FAKE cuFuncGetName(const char **name, CUfunction handle) {
  Function *function = asFunction(handle);
  return function ? (*name = function->function->name, CUDA_SUCCESS) : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuFuncGetModule(CUmodule *module, CUfunction handle) {
  Function *function = asFunction(handle);
  return function ? (*module = reinterpret_cast<CUmodule>(function->library), CUDA_SUCCESS)
                  : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction handle) {
  return attribute(value, which, asFunction(handle));
}
FAKE cuFuncGetParamInfo(CUfunction handle, std::size_t index, std::size_t *offset, std::size_t *size) {
  return parameter(asFunction(handle), index, offset, size);
}
FAKE cuKernelGetName(const char **name, CUkernel handle) {
  Function *function = asKernel(handle);
  return function ? (*name = function->function->name, CUDA_SUCCESS) : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuKernelGetLibrary(CUlibrary *library, CUkernel handle) {
  Function *function = asKernel(handle);
  return function ? (*library = reinterpret_cast<CUlibrary>(function->library), CUDA_SUCCESS)
                  : CUDA_ERROR_INVALID_HANDLE;
}
FAKE cuKernelGetAttribute(int *value, CUfunction_attribute which, CUkernel handle, CUdevice) {
  return attribute(value, which, asKernel(handle));
}
FAKE cuKernelGetParamInfo(CUkernel handle, std::size_t index, std::size_t *offset, std::size_t *size) {
  return parameter(asKernel(handle), index, offset, size);
}
FAKE cuLaunchKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                    unsigned bz, unsigned, CUstream stream, void **parameters, void **extra) {
  return launch(function, {gx, gy, gz}, {bx, by, bz}, stream, parameters, extra);
}
FAKE cuLaunchKernel_ptsz(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                         unsigned bz, unsigned, CUstream stream, void **parameters, void **extra) {
  return launch(function, {gx, gy, gz}, {bx, by, bz}, stream, parameters, extra);
}
FAKE cuLaunchCooperativeKernel(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx,
                               unsigned by, unsigned bz, unsigned, CUstream stream, void **parameters) {
  return launch(function, {gx, gy, gz}, {bx, by, bz}, stream, parameters, nullptr);
}
FAKE cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction function, void **parameters, void **extra) {
  return launch(function, {config->gridDimX, config->gridDimY, config->gridDimZ},
                {config->blockDimX, config->blockDimY, config->blockDimZ}, config->hStream, parameters,
                extra);
}

FAKE cuGetProcAddress_v2(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
FAKE cuGetProcAddress(const char *, void **, int, cuuint64_t);
FAKE cuGetExportTable(const void **table, const CUuuid *id) {
  if (std::getenv("FAKE_CUDA_TRACE")) {
    for (unsigned char byte : id->bytes)
      std::fprintf(stderr, "%02x", byte);
    std::fprintf(stderr, " table asked for\n");
  }
  return *table = nullptr, CUDA_ERROR_NOT_FOUND;
}

namespace {

struct Exported {
  const char *name;
  void *function;
};
#define NAMED(name, symbol) {#name, reinterpret_cast<void *>(symbol)}
#define PLAIN(symbol) {#symbol, reinterpret_cast<void *>(symbol)}
#undef cuDeviceTotalMem
#undef cuDeviceGetUuid
#undef cuDevicePrimaryCtxRelease
#undef cuDevicePrimaryCtxReset
#undef cuDevicePrimaryCtxSetFlags
#undef cuCtxPushCurrent
#undef cuCtxPopCurrent
#undef cuCtxDestroy
#undef cuMemAlloc
#undef cuMemFree
#undef cuMemAllocHost
#undef cuMemHostGetDevicePointer
#undef cuMemGetInfo
#undef cuMemGetAddressRange
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuMemcpyDtoD
#undef cuMemcpyHtoDAsync
#undef cuMemcpyDtoHAsync
#undef cuMemsetD8
#undef cuEventDestroy
#undef cuEventElapsedTime
#undef cuStreamDestroy
#undef cuStreamBeginCapture
#undef cuModuleGetGlobal
#undef cuMemHostRegister
#undef cuMemAllocPitch
#undef cuMemsetD2D8

const Exported exported[] = {
    PLAIN(cuInit),
    PLAIN(cuDriverGetVersion),
    PLAIN(cuDeviceGet),
    PLAIN(cuDeviceGetCount),
    PLAIN(cuDeviceGetName),
    NAMED(cuDeviceTotalMem, cuDeviceTotalMem_v2),
    NAMED(cuDeviceGetUuid, cuDeviceGetUuid_v2),
    PLAIN(cuDeviceGetAttribute),
    PLAIN(cuDevicePrimaryCtxRetain),
    NAMED(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2),
    NAMED(cuDevicePrimaryCtxReset, cuDevicePrimaryCtxReset_v2),
    NAMED(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2),
    PLAIN(cuDevicePrimaryCtxGetState),
    PLAIN(cuCtxGetCurrent),
    PLAIN(cuCtxSetCurrent),
    NAMED(cuCtxPushCurrent, cuCtxPushCurrent_v2),
    NAMED(cuCtxPopCurrent, cuCtxPopCurrent_v2),
    NAMED(cuCtxDestroy, cuCtxDestroy_v2),
    PLAIN(cuCtxGetFlags),
    PLAIN(cuCtxGetDevice),
    PLAIN(cuCtxSynchronize),
    PLAIN(cuGetErrorString),
    PLAIN(cuGetErrorName),
    NAMED(cuMemAlloc, cuMemAlloc_v2),
    NAMED(cuMemFree, cuMemFree_v2),
    PLAIN(cuMemAllocAsync),
    PLAIN(cuMemFreeAsync),
    PLAIN(cuMemAllocManaged),
    NAMED(cuMemAllocHost, cuMemAllocHost_v2),
    PLAIN(cuMemHostAlloc),
    PLAIN(cuMemFreeHost),
    NAMED(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2),
    NAMED(cuMemHostRegister, cuMemHostRegister_v2),
    PLAIN(cuMemHostUnregister),
    NAMED(cuMemAllocPitch, cuMemAllocPitch_v2),
    PLAIN(cuMemAllocFromPoolAsync),
    PLAIN(cuTexObjectCreate),
    PLAIN(cuTexObjectDestroy),
    PLAIN(cuPointerGetAttribute),
    PLAIN(cuPointerGetAttributes),
    NAMED(cuMemsetD2D8, cuMemsetD2D8_v2),
    NAMED(cuMemcpyBatchAsync, cuMemcpyBatchAsync_v2),
    NAMED(cuMemGetInfo, cuMemGetInfo_v2),
    NAMED(cuMemGetAddressRange, cuMemGetAddressRange_v2),
    PLAIN(cuMemAddressReserve),
    PLAIN(cuMemAddressFree),
    PLAIN(cuMemGetAllocationGranularity),
    PLAIN(cuMemCreate),
    PLAIN(cuMemRelease),
    PLAIN(cuMemMap),
    PLAIN(cuMemSetAccess),
    PLAIN(cuMemUnmap),
    PLAIN(cuMemcpy),
    NAMED(cuMemcpyHtoD, cuMemcpyHtoD_v2),
    NAMED(cuMemcpyDtoH, cuMemcpyDtoH_v2),
    NAMED(cuMemcpyDtoD, cuMemcpyDtoD_v2),
    NAMED(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2),
    NAMED(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2),
    NAMED(cuMemsetD8, cuMemsetD8_v2),
    PLAIN(cuMemsetD8Async),
    PLAIN(cuExternalMemoryGetMappedBuffer),
    PLAIN(cuEventCreate),
    NAMED(cuEventDestroy, cuEventDestroy_v2),
    PLAIN(cuEventRecord),
    PLAIN(cuEventQuery),
    PLAIN(cuEventSynchronize),
    NAMED(cuEventElapsedTime, cuEventElapsedTime_v2),
    PLAIN(cuStreamCreate),
    NAMED(cuStreamDestroy, cuStreamDestroy_v2),
    PLAIN(cuStreamSynchronize),
    PLAIN(cuStreamQuery),
    PLAIN(cuStreamIsCapturing),
    NAMED(cuStreamBeginCapture, cuStreamBeginCapture_v2),
    PLAIN(cuStreamEndCapture),
    PLAIN(cuThreadExchangeStreamCaptureMode),
    PLAIN(cuGraphLaunch),
    PLAIN(cuLibraryLoadData),
    PLAIN(cuLibraryUnload),
    PLAIN(cuLibraryGetKernel),
    PLAIN(cuLibraryGetModule),
    PLAIN(cuLibraryGetGlobal),
    PLAIN(cuModuleLoadData),
    PLAIN(cuModuleUnload),
    PLAIN(cuModuleGetFunction),
    NAMED(cuModuleGetGlobal, cuModuleGetGlobal_v2),
    PLAIN(cuKernelGetFunction),
    PLAIN(cuFuncGetName),
    PLAIN(cuFuncGetModule),
    PLAIN(cuFuncGetAttribute),
    PLAIN(cuFuncGetParamInfo),
    PLAIN(cuKernelGetName),
    PLAIN(cuKernelGetLibrary),
    PLAIN(cuKernelGetAttribute),
    PLAIN(cuKernelGetParamInfo),
    PLAIN(cuLaunchKernel),
    PLAIN(cuLaunchCooperativeKernel),
    PLAIN(cuLaunchKernelEx),
    PLAIN(cuGetExportTable),
};

/// cudart asks for some 350 functions when it starts and calls few of them.
CUresult unsupported() { return CUDA_ERROR_NOT_SUPPORTED; }

} // namespace

FAKE cuGetProcAddress_v2(const char *name, void **function, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult *status) {
  if (status)
    *status = CU_GET_PROC_ADDRESS_SUCCESS;
  if (!std::strcmp(name, "cuGetProcAddress")) {
    *function = version >= 12000 ? reinterpret_cast<void *>(cuGetProcAddress_v2)
                                 : reinterpret_cast<void *>(cuGetProcAddress);
    return CUDA_SUCCESS;
  }
  if (!std::strcmp(name, "cuLaunchKernel") && (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)) {
    *function = reinterpret_cast<void *>(cuLaunchKernel_ptsz);
    return CUDA_SUCCESS;
  }
  for (const Exported &entry : exported)
    if (!std::strcmp(entry.name, name))
      return *function = entry.function, CUDA_SUCCESS;
  if (std::getenv("FAKE_CUDA_TRACE"))
    std::fprintf(stderr, "fake: no %s\n", name);
  *function = reinterpret_cast<void *>(unsupported);
  return CUDA_SUCCESS;
}

FAKE cuGetProcAddress(const char *name, void **function, int version, cuuint64_t flags) {
  return cuGetProcAddress_v2(name, function, version, flags, nullptr);
}
