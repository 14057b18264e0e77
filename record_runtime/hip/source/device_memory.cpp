// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "device_memory.h"

#include "r3core/log.h"

#include <algorithm>
#include <cstring>

namespace r3::hip {

static void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(address); }

DevicePages::DevicePages(int device) {
  properties_.location.device = device;
  std::size_t least = 0;
  if (calls().hipMemGetAllocationGranularity &&
      calls().hipMemGetAllocationGranularity(&least, &properties_, 0) == Success)
    granularity_ = std::max<std::uint64_t>(granularity_, least);
}

bool DevicePages::reserve(std::uint64_t base, std::uint64_t size) {
  void *got = nullptr;
  if (!calls().hipMemAddressReserve || !calls().hipMemSetAccess ||
      calls().hipMemAddressReserve(&got, size, 0, pointer(base), 0) != Success)
    return false;
  if (got == pointer(base))
    return true;
  calls().hipMemAddressFree(got, size);
  return false;
}

bool DevicePages::map(std::uint64_t address, std::uint64_t size) {
  void *handle = nullptr;
  if (calls().hipMemCreate(&handle, size, &properties_, 0) != Success)
    return false;
  bool mapped = calls().hipMemMap(pointer(address), size, 0, handle, 0) == Success;
  calls().hipMemRelease(handle); // the mapping keeps the memory
  Access access{properties_.location};
  if (mapped && calls().hipMemSetAccess(pointer(address), size, &access, 1) == Success)
    return true;
  if (mapped)
    calls().hipMemUnmap(pointer(address), size);
  return false;
}

void DevicePages::unmap(std::uint64_t address, std::uint64_t size) {
  calls().hipMemUnmap(pointer(address), size);
}

Arena *DeviceMemory::currentArena() {
  int device = 0;
  if (calls().hipGetDevice(&device) != Success || (device_ >= 0 && device != device_))
    return nullptr;
  if (!arena_) {
    device_ = device;
    pages_ = std::make_unique<DevicePages>(device);
    arena_ = std::make_unique<Arena>(*pages_, settings_.arenaBase, settings_.arenaSize);
    if (!arena_->reserved())
      message(
          "the device addresses from 0x%llx, where recorded memory has to lie, can't be had on hip:%d: no "
          "launch will be recorded; set R3_RECORD_ARENA_BASE to a free range",
          static_cast<unsigned long long>(settings_.arenaBase), device);
  }
  return arena_.get();
}

std::uint64_t DeviceMemory::allocate(std::size_t size) {
  if (settings_.timesOnly)
    return 0; // nothing is captured: the program gets the memory that it would have had
  std::lock_guard lock(mutex_);
  collectDeferred();
  Arena *arena = currentArena();
  if (!arena)
    return 0;
  std::uint64_t address = arena->allocate(size);
  if (address || deferred_.empty())
    return address;
  calls().hipDeviceSynchronize();
  return collectDeferred() ? arena->allocate(size) : 0;
}

std::optional<Allocation> DeviceMemory::find(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  return arena_ ? arena_->find(address) : std::nullopt;
}

Error DeviceMemory::releaseInOrder(std::uint64_t address, void *stream) {
  std::lock_guard lock(mutex_);
  auto allocation = arena_->find(address);
  if (!allocation || allocation->address != address)
    return InvalidValue;
  int device = 0;
  calls().hipGetDevice(&device);
  return deferred_.add(device, stream, address) ? Success : InvalidValue;
}

/// Frees what streams have passed. Says whether anything was freed.
bool DeviceMemory::collectDeferred() {
  return !deferred_.empty() &&
         deferred_.collect([&](std::uint64_t address) { return arena_->release(address); });
}

void DeviceMemory::deviceGone(int device) {
  std::lock_guard lock(mutex_);
  deferred_.forget(device, [&](std::uint64_t address) { return arena_->release(address); });
}

bool DeviceMemory::release(std::uint64_t address) {
  std::lock_guard lock(mutex_);
  return arena_ && arena_->release(address);
}

bool DeviceMemory::owns(std::uint64_t address) const {
  std::lock_guard lock(mutex_);
  return arena_ && arena_->owns(address);
}

void DeviceMemory::addForeign(const void *address, std::size_t size, const std::string &reason) {
  std::lock_guard lock(mutex_);
  ForeignRange range;
  range.address = reinterpret_cast<std::uint64_t>(address);
  range.size = size;
  range.reason = reason;
  foreign_[range.address] = range;
}

void DeviceMemory::removeForeign(const void *address) {
  std::lock_guard lock(mutex_);
  foreign_.erase(reinterpret_cast<std::uint64_t>(address));
}

std::string DeviceMemory::unusable() {
  std::lock_guard lock(mutex_);
  Arena *arena = currentArena();
  if (!arena)
    return "it runs on another device than the first that the program used";
  return arena->reserved() ? "" : "the fixed range of device addresses can't be had";
}

bool DeviceMemory::isKnown(std::uint64_t address) const {
  auto after = foreign_.upper_bound(address);
  return (arena_ && arena_->owns(address)) ||
         (after != foreign_.begin() && address - std::prev(after)->first < std::prev(after)->second.size);
}

bool DeviceMemory::isUnknownMemoryIn(const std::vector<std::uint8_t> &arguments) {
  std::lock_guard lock(mutex_);
  for (std::size_t at = 0; calls().hipMemGetAddressRange && at + 8 <= arguments.size(); at += 8) {
    std::uint64_t word;
    std::memcpy(&word, arguments.data() + at, 8);
    void *base = nullptr;
    std::size_t size = 0;
    if (word && !isKnown(word) && calls().hipMemGetAddressRange(&base, &size, pointer(word)) == Success)
      return true;
  }
  return false;
}

std::vector<Allocation> DeviceMemory::allocations() {
  std::lock_guard lock(mutex_);
  return arena_ ? arena_->allocations() : std::vector<Allocation>();
}

std::vector<ForeignRange> DeviceMemory::foreign() {
  std::lock_guard lock(mutex_);
  std::vector<ForeignRange> all;
  for (const auto &[address, range] : foreign_)
    all.push_back(range);
  return all;
}

const std::uint8_t *DeviceMemory::view(std::uint64_t address, std::size_t size) {
  constexpr int deviceToHost = 2;
  staging_.resize(ViewBytes);
  bool copied = calls().hipMemcpy(staging_.data(), pointer(address), size, deviceToHost) == Success;
  return copied ? staging_.data() : nullptr;
}

} // namespace r3::hip
