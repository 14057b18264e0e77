// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace r3 {

/// A device's virtual memory: a range of addresses and what lies behind it.
class Pages {
public:
  virtual ~Pages() = default;
  /// Takes exactly [base, base + size); false if any of it can't be had.
  virtual bool reserve(std::uint64_t base, std::uint64_t size) = 0;
  /// Puts memory behind a part of the range, in whole granules; false when memory is exhausted.
  virtual bool map(std::uint64_t address, std::uint64_t size) = 0;
  /// Takes back exactly one earlier map.
  virtual void unmap(std::uint64_t address, std::uint64_t size) = 0;
  /// Unit of map, in bytes: a power of two.
  virtual std::uint64_t granule() const = 0;
};

/// Pages of host memory (cpu device, tests).
class HostPages : public Pages {
public:
  bool reserve(std::uint64_t base, std::uint64_t size) override;
  bool map(std::uint64_t address, std::uint64_t size) override;
  void unmap(std::uint64_t address, std::uint64_t size) override;
  std::uint64_t granule() const override { return std::uint64_t(2) << 20; }
};

/// What the application asked for.
struct Allocation {
  std::uint64_t address;
  std::uint64_t size;
  bool isHost = false; ///< pinned host memory: the host may change it while a kernel runs
  bool holds(std::uint64_t where) const { return where - address < size; }
};

/// Hands out addresses in a fixed range: the same calls give the same addresses in every run.
/// Small allocations share granules. The range's first granule is mapped and never handed out: kernels that
/// read a little before an array, and use nothing of it, work with a plain allocator, too.
/// All members may be called from any thread.
class Arena {
public:
  static constexpr std::uint64_t Alignment = 256;

  Arena(Pages &pages, std::uint64_t base, std::uint64_t size);
  Arena(const Arena &) = delete;

  /// Whether the range could be had; without it every allocate fails.
  bool reserved() const { return isReserved; }
  std::uint64_t base() const { return rangeBase; }
  std::uint64_t size() const { return rangeSize; }

  /// Address of `size` bytes (> 0), aligned to 256, or 0 when memory is exhausted.
  std::uint64_t allocate(std::uint64_t size);
  /// Frees what allocate returned; false if `address` is not the start of a live allocation.
  bool release(std::uint64_t address);
  /// The live allocation that `address` lies in.
  std::optional<Allocation> find(std::uint64_t address) const;
  /// Whether the address lies in the range, allocated or not.
  bool owns(std::uint64_t address) const { return isReserved && address - rangeBase < rangeSize; }
  /// Live allocations by ascending address.
  std::vector<Allocation> allocations() const;
  /// Bytes that trim() would give back, shared granules aside.
  std::uint64_t spareBytes() const;
  /// Gives spare memory back to the device.
  void trim();

  /// For pthread_atfork: a child must not inherit the lock held by another thread.
  void lockForFork() { mutex.lock(); }
  void unlockAfterFork() { mutex.unlock(); }

private:
  struct FreeRanges {
    std::map<std::uint64_t, std::uint64_t> byAddress;
    std::set<std::pair<std::uint64_t, std::uint64_t>> bySize;
    void insert(std::uint64_t address, std::uint64_t size);
    std::optional<std::uint64_t> take(std::uint64_t size);
    bool takeAt(std::uint64_t address, std::uint64_t size);
    void erase(std::map<std::uint64_t, std::uint64_t>::iterator range);
  };

  std::uint64_t allocateSmall(std::uint64_t rounded);
  std::uint64_t allocateSpan(std::uint64_t rounded);
  void releaseSpan(std::uint64_t address, std::uint64_t rounded);
  void trimLocked();

  Pages &pages;
  const std::uint64_t rangeBase, rangeSize;
  bool isReserved = false;
  bool guarded = false; ///< the first granule is mapped
  mutable std::mutex mutex;
  std::map<std::uint64_t, std::uint64_t> live; // address, size asked for
  FreeRanges addresses;                        // granules of the range with nothing mapped
  FreeRanges small;                            // free parts of mapped shared granules
  std::set<std::uint64_t> sharedGranules;
  std::map<std::uint64_t, std::set<std::uint64_t>> spareSpans; // size, addresses: mapped, not in use
  std::uint64_t spareSpanBytes = 0;
};

} // namespace r3
