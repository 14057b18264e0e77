// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_memory.h"
#include "r3core/log.h"

#include <algorithm>
#include <cstring>

using namespace r3;
using namespace r3::cuda;

DevicePages::DevicePages(CUdevice device) : device(device), accessors{device} {
  CUmemAllocationProp wanted = properties();
  std::size_t least = 0;
  if (driver().cuMemGetAllocationGranularity &&
      driver().cuMemGetAllocationGranularity(&least, &wanted, CU_MEM_ALLOC_GRANULARITY_MINIMUM) ==
          CUDA_SUCCESS)
    granularity = std::max<std::uint64_t>(granularity, least);
  int supported = 0;
  if (driver().cuDeviceGetAttribute(&supported, CU_DEVICE_ATTRIBUTE_GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED,
                                    device) == CUDA_SUCCESS)
    directRdma = supported;
}

CUmemAllocationProp DevicePages::properties() const {
  CUmemAllocationProp wanted = {};
  wanted.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  wanted.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  wanted.location.id = device;
  wanted.allocFlags.gpuDirectRDMACapable = directRdma; // as cuMemAlloc's memory is
  return wanted;
}

bool DevicePages::reserve(std::uint64_t base, std::uint64_t size) {
  if (!driver().cuMemAddressReserve)
    return false;
  CUdeviceptr got = 0;
  if (driver().cuMemAddressReserve(&got, size, 0, base, 0) != CUDA_SUCCESS)
    return false;
  if (got == base)
    return true;
  driver().cuMemAddressFree(got, size);
  return false;
}

bool DevicePages::map(std::uint64_t address, std::uint64_t size) {
  std::lock_guard lock(mutex);
  CUmemAllocationProp wanted = properties();
  CUmemGenericAllocationHandle handle;
  if (driver().cuMemCreate(&handle, size, &wanted, 0) != CUDA_SUCCESS)
    return false;
  bool mapped = driver().cuMemMap(address, size, 0, handle, 0) == CUDA_SUCCESS;
  driver().cuMemRelease(handle); // the mapping keeps the memory
  if (!mapped)
    return false;
  if (!setAccess(address, size)) {
    driver().cuMemUnmap(address, size);
    return false;
  }
  spans.emplace(address, size);
  return true;
}

void DevicePages::unmap(std::uint64_t address, std::uint64_t size) {
  std::lock_guard lock(mutex);
  spans.erase(address);
  driver().cuMemUnmap(address, size);
}

bool DevicePages::setAccess(std::uint64_t address, std::uint64_t size) {
  std::vector<CUmemAccessDesc> access;
  for (CUdevice accessor : accessors)
    access.push_back({{CU_MEM_LOCATION_TYPE_DEVICE, {accessor}}, CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
  return driver().cuMemSetAccess(address, size, access.data(), access.size()) == CUDA_SUCCESS;
}

void DevicePages::grantAccess(CUdevice peer) {
  std::lock_guard lock(mutex);
  if (!accessors.insert(peer).second)
    return;
  for (auto [address, size] : spans)
    setAccess(address, size);
}

Arena *DeviceMemory::arenaOf(CUdevice device) {
  Device &state = devices[device];
  if (!state.arena) {
    // One sub-range a device, so that addresses do not depend on the order in which devices are used.
    std::uint64_t base = settings.arenaBase + std::uint64_t(device) * settings.arenaSize;
    state.pages = std::make_unique<DevicePages>(device);
    state.arena = std::make_unique<Arena>(*state.pages, base, settings.arenaSize);
    if (!state.arena->reserved())
      message("the device addresses from 0x%llx (%llu GiB), where recorded memory has to lie, can't be had "
              "on cuda:%d: "
              "no launch will be recorded; set R3_RECORD_ARENA_BASE to a free range",
              static_cast<unsigned long long>(base),
              static_cast<unsigned long long>(settings.arenaSize >> 30), device);
  }
  return state.arena.get();
}

Arena *DeviceMemory::currentArena() {
  CUdevice device;
  return driver().cuCtxGetDevice(&device) == CUDA_SUCCESS ? arenaOf(device) : nullptr;
}

Arena *DeviceMemory::owner(CUdeviceptr address) const {
  for (const auto &[device, state] : devices)
    if (state.arena && state.arena->owns(address))
      return state.arena.get();
  return nullptr;
}

CUdeviceptr DeviceMemory::allocate(std::size_t size) {
  if (settings.timesOnly)
    return 0; // nothing is captured: the program gets the memory that it would have had
  std::lock_guard lock(mutex);
  collectDeferred();
  Arena *arena = currentArena();
  if (!arena)
    return 0;
  CUdeviceptr address = arena->allocate(size);
  if (address || deferred.empty())
    return address;
  {
    RelaxedCapture relaxed;
    driver().cuCtxSynchronize();
  }
  return collectDeferred() ? arena->allocate(size) : 0;
}

std::optional<Allocation> DeviceMemory::find(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  Arena *arena = isHost(address) ? hostArena.get() : owner(address);
  return arena ? arena->find(address) : std::nullopt;
}

void *DeviceMemory::allocateHost(std::size_t size) {
  if (settings.timesOnly || !size)
    return nullptr;
  std::lock_guard lock(mutex);
  if (!hostArena)
    hostArena = std::make_unique<Arena>(hostPages, PinnedPages::Base, PinnedPages::Size);
  return hostPages.usable() ? reinterpret_cast<void *>(hostArena->allocate(size)) : nullptr;
}

bool DeviceMemory::ownsHost(const void *address) const {
  std::lock_guard lock(mutex);
  return isHost(reinterpret_cast<CUdeviceptr>(address));
}

bool DeviceMemory::releaseHost(void *address) {
  std::lock_guard lock(mutex);
  return hostArena && hostArena->release(reinterpret_cast<CUdeviceptr>(address));
}

bool DeviceMemory::owns(CUdeviceptr address) const {
  std::lock_guard lock(mutex);
  return owner(address) != nullptr;
}

bool DeviceMemory::releaseAt(CUdeviceptr address) {
  Arena *arena = owner(address);
  return arena && arena->release(address);
}

bool DeviceMemory::release(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  return releaseAt(address);
}

CUresult DeviceMemory::releaseInOrder(CUdeviceptr address, CUstream stream) {
  std::lock_guard lock(mutex);
  Arena *arena = owner(address);
  auto allocation = arena ? arena->find(address) : std::nullopt;
  if (!allocation || allocation->address != address)
    return CUDA_ERROR_INVALID_VALUE;
  CUcontext context = nullptr;
  driver().cuCtxGetCurrent(&context);
  return deferred.add(context, stream, address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/// Frees what streams have passed. Says whether anything was freed.
bool DeviceMemory::collectDeferred() {
  return !deferred.empty() && deferred.collect([&](CUdeviceptr address) { return releaseAt(address); });
}

std::size_t DeviceMemory::spareBytes() {
  std::lock_guard lock(mutex);
  CUdevice device;
  if (driver().cuCtxGetDevice(&device) != CUDA_SUCCESS)
    return 0;
  auto known = devices.find(device);
  return known != devices.end() && known->second.arena ? known->second.arena->spareBytes() : 0;
}

void DeviceMemory::grantAccess(CUdevice device, CUdevice peer) {
  std::lock_guard lock(mutex);
  arenaOf(device);
  devices[device].pages->grantAccess(peer);
}

void DeviceMemory::addForeign(CUdeviceptr address, std::size_t size, const std::string &reason,
                              bool matchesInMemory) {
  std::lock_guard lock(mutex);
  foreignRanges[address] = {address, size, reason, matchesInMemory};
}

void DeviceMemory::removeForeign(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  foreignRanges.erase(address);
}

void DeviceMemory::contextGone(CUcontext context) {
  inspector.forget(context);
  std::lock_guard lock(mutex);
  if (stagingContext == context)
    staging = nullptr;
  deferred.forget(context, [&](CUdeviceptr address) { return releaseAt(address); });
}

std::string DeviceMemory::unusable() {
  std::lock_guard lock(mutex);
  Arena *arena = currentArena();
  return arena && arena->reserved() ? "" : "the fixed range of device addresses can't be had";
}

bool DeviceMemory::isKnown(CUdeviceptr address) const {
  auto after = foreignRanges.upper_bound(address);
  return isHost(address) || owner(address) ||
         (after != foreignRanges.begin() &&
          address - std::prev(after)->first < std::prev(after)->second.size);
}

bool DeviceMemory::isUnknownMemoryIn(const std::vector<std::uint8_t> &arguments) {
  std::lock_guard lock(mutex);
  for (std::size_t at = 0; at + sizeof(CUdeviceptr) <= arguments.size(); at += sizeof(CUdeviceptr)) {
    CUdeviceptr word;
    std::memcpy(&word, arguments.data() + at, sizeof(word));
    unsigned kind = 0;
    if (word && !isKnown(word) &&
        driver().cuPointerGetAttribute(&kind, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, word) == CUDA_SUCCESS &&
        kind == CU_MEMORYTYPE_DEVICE)
      return true;
  }
  return false;
}

std::vector<Allocation> DeviceMemory::allocations() {
  std::lock_guard lock(mutex);
  std::vector<Allocation> all;
  for (const auto &[device, state] : devices)
    if (state.arena) {
      std::vector<Allocation> own = state.arena->allocations();
      all.insert(all.end(), own.begin(), own.end());
    }
  if (hostArena)
    for (Allocation allocation : hostArena->allocations())
      all.push_back({allocation.address, allocation.size, true});
  std::sort(all.begin(), all.end(),
            [](const Allocation &a, const Allocation &b) { return a.address < b.address; });
  return all;
}

std::vector<ForeignRange> DeviceMemory::foreign() {
  std::lock_guard lock(mutex);
  std::vector<ForeignRange> all;
  for (const auto &[address, range] : foreignRanges)
    all.push_back(range);
  return all;
}

const std::uint8_t *DeviceMemory::view(std::uint64_t address, std::size_t size) {
  if (ownsHost(reinterpret_cast<const void *>(address)))
    return reinterpret_cast<const std::uint8_t *>(address);
  void *pinned = staging;
  if (!pinned && (driver().cuMemHostAlloc(&pinned, ViewBytes, CU_MEMHOSTALLOC_PORTABLE) != CUDA_SUCCESS ||
                  driver().cuCtxGetCurrent(&stagingContext) != CUDA_SUCCESS))
    return nullptr;
  staging = static_cast<std::uint8_t *>(pinned);
  return driver().cuMemcpyDtoH_v2(staging, address, size) == CUDA_SUCCESS ? staging : nullptr;
}

/// Kernels of this context may read it, and it doesn't lie across the bus.
bool DeviceMemory::isOnCurrentDevice(CUdeviceptr address) {
  std::lock_guard lock(mutex);
  Arena *arena = owner(address); // none: a variable of a module in this context
  return !isHost(address) && (!arena || arena == currentArena());
}

bool DeviceMemory::fingerprint(std::uint64_t address, std::uint64_t size, std::vector<Fingerprint> &chunks) {
  return settings.deviceHash && isOnCurrentDevice(address) && inspector.fingerprint(address, size, chunks);
}

bool DeviceMemory::findPointers(std::uint64_t address, std::uint64_t size,
                                const std::vector<PointerTarget> &targets, std::vector<std::uint8_t> &hits) {
  return settings.deviceHash && isOnCurrentDevice(address) &&
         inspector.findPointers(address, size, targets, hits);
}
