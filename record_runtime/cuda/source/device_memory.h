// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "chunk_inspector.h"
#include "driver.h"
#include "events.h"
#include "pinned_pages.h"
#include "r3core/arena.h"
#include "r3core/deferred_frees.h"
#include "r3core/recorder.h"

#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace r3::cuda {

/// One device's memory behind a range of addresses, by the driver's virtual memory functions.
class DevicePages : public Pages {
public:
  explicit DevicePages(CUdevice device);
  bool reserve(std::uint64_t base, std::uint64_t size) override;
  bool map(std::uint64_t address, std::uint64_t size) override;
  void unmap(std::uint64_t address, std::uint64_t size) override;
  std::uint64_t granule() const override { return granularity; }
  /// Lets another device read and write what is mapped, and what will be.
  void grantAccess(CUdevice peer);

private:
  CUmemAllocationProp properties() const;
  bool setAccess(std::uint64_t address, std::uint64_t size);

  const CUdevice device;
  std::uint64_t granularity = std::uint64_t(2) << 20;
  bool directRdma = false;
  std::mutex mutex;
  std::set<CUdevice> accessors;
  std::map<std::uint64_t, std::uint64_t> spans;
};

/// All memory that the application's kernels can reach: arenas, one a device, and what isn't ours.
class DeviceMemory : public Memory {
public:
  explicit DeviceMemory(const Settings &settings) : settings(settings) {}

  /// Memory of the current context's device; 0 when the arena can't give any.
  CUdeviceptr allocate(std::size_t size);
  /// The arena allocation, of a device or of the host, that holds the address.
  std::optional<Allocation> find(CUdeviceptr address);
  bool owns(CUdeviceptr address) const;
  bool release(CUdeviceptr address);
  /// Pinned host memory; null when it can't lie where devices see it at the host's address.
  void *allocateHost(std::size_t size);
  bool ownsHost(const void *address) const;
  bool releaseHost(void *address);
  /// Releases once the stream, of the current context, has come to this point.
  CUresult releaseInOrder(CUdeviceptr address, CUstream stream);
  /// Bytes of the current device that are free in truth, though mapped.
  std::size_t spareBytes();
  void grantAccess(CUdevice owner, CUdevice peer);

  void addForeign(CUdeviceptr address, std::size_t size, const std::string &reason, bool matchesInMemory);
  void removeForeign(CUdeviceptr address);

  /// A context is gone, and with it events and host memory that were made in it.
  void contextGone(CUcontext context);

  /// Why no launch on the current device can be recorded; empty if they can.
  std::string unusable();
  /// Whether an aligned word of the arguments is an address of device memory of which the recorder knows
  /// nothing.
  bool isUnknownMemoryIn(const std::vector<std::uint8_t> &arguments);

  std::vector<Allocation> allocations() override;
  std::vector<ForeignRange> foreign() override;
  const std::uint8_t *view(std::uint64_t address, std::size_t size) override;
  bool fingerprint(std::uint64_t address, std::uint64_t size, std::vector<Fingerprint> &chunks) override;
  bool findPointers(std::uint64_t address, std::uint64_t size, const std::vector<PointerTarget> &targets,
                    std::vector<std::uint8_t> &hits) override;

private:
  struct Device {
    std::unique_ptr<DevicePages> pages;
    std::unique_ptr<Arena> arena;
  };
  Arena *arenaOf(CUdevice device);
  Arena *currentArena();
  Arena *owner(CUdeviceptr address) const;
  bool isOnCurrentDevice(CUdeviceptr address);
  bool isHost(CUdeviceptr address) const { return hostArena && hostArena->owns(address); }
  bool isKnown(CUdeviceptr address) const;
  bool releaseAt(CUdeviceptr address);
  bool collectDeferred();

  const Settings settings;
  ChunkInspector inspector;
  mutable std::mutex mutex; // of all below
  std::map<CUdevice, Device> devices;
  PinnedPages hostPages;
  std::unique_ptr<Arena> hostArena;
  std::map<CUdeviceptr, ForeignRange> foreignRanges;
  DeferredFrees<EventCalls> deferred;
  std::uint8_t *staging = nullptr;
  CUcontext stagingContext = nullptr; // that staging was made in
};

} // namespace r3::cuda
