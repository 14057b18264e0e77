// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "calls.h"
#include "events.h"

#include "r3core/arena.h"
#include "r3core/deferred_frees.h"
#include "r3core/recorder.h"
#include "r3core/settings.h"

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

namespace r3::hip {

/// A device's memory behind a range of addresses, by the runtime's virtual memory functions.
class DevicePages : public Pages {
public:
  explicit DevicePages(int device);
  bool reserve(std::uint64_t base, std::uint64_t size) override;
  bool map(std::uint64_t address, std::uint64_t size) override;
  void unmap(std::uint64_t address, std::uint64_t size) override;
  std::uint64_t granule() const override { return granularity_; }

private:
  AllocationProperties properties_;
  std::uint64_t granularity_ = std::uint64_t(2) << 20;
};

/// All memory that the application's kernels can reach: an arena on the first device that it uses, and what
/// isn't ours.
class DeviceMemory : public Memory {
public:
  explicit DeviceMemory(const Settings &settings) : settings_(settings) {}

  /// 0 when the arena can't give any, and on other devices than the first.
  std::uint64_t allocate(std::size_t size);
  bool release(std::uint64_t address);
  bool owns(std::uint64_t address) const;
  /// The arena's allocation that holds the address.
  std::optional<Allocation> find(std::uint64_t address) const;
  /// Releases once the stream, of the current device, has come to this point.
  Error releaseInOrder(std::uint64_t address, void *stream);
  /// A device forgets its streams and events.
  void deviceGone(int device);
  void addForeign(const void *address, std::size_t size, const std::string &reason);
  void removeForeign(const void *address);
  /// Why no launch on the current device can be recorded; empty if they can.
  std::string unusable();
  /// Whether an aligned word of the arguments is an address of device memory of which the recorder knows
  /// nothing.
  bool isUnknownMemoryIn(const std::vector<std::uint8_t> &arguments);

  std::vector<Allocation> allocations() override;
  std::vector<ForeignRange> foreign() override;
  const std::uint8_t *view(std::uint64_t address, std::size_t size) override;

private:
  Arena *currentArena();
  bool isKnown(std::uint64_t address) const;
  bool collectDeferred();

  const Settings settings_;
  mutable std::mutex mutex_;
  int device_ = -1; ///< the arena's
  std::unique_ptr<DevicePages> pages_;
  std::unique_ptr<Arena> arena_;
  std::map<std::uint64_t, ForeignRange> foreign_;
  DeferredFrees<EventCalls> deferred_;
  std::vector<std::uint8_t> staging_;
};

} // namespace r3::hip
