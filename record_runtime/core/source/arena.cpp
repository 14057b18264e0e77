// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/arena.h"

#include <iterator>

using namespace r3;

namespace {

constexpr std::uint64_t SpareLimit = std::uint64_t(512) << 20;

std::uint64_t roundUp(std::uint64_t value, std::uint64_t unit) { return (value + unit - 1) / unit * unit; }

} // namespace

void Arena::FreeRanges::erase(std::map<std::uint64_t, std::uint64_t>::iterator range) {
  bySize.erase({range->second, range->first});
  byAddress.erase(range);
}

void Arena::FreeRanges::insert(std::uint64_t address, std::uint64_t size) {
  auto next = byAddress.lower_bound(address);
  if (next != byAddress.end() && next->first == address + size) {
    size += next->second;
    auto joined = next++;
    erase(joined);
  }
  if (next != byAddress.begin()) {
    auto previous = std::prev(next);
    if (previous->first + previous->second == address) {
      address = previous->first;
      size += previous->second;
      erase(previous);
    }
  }
  byAddress.emplace(address, size);
  bySize.emplace(size, address);
}

/// Best fit, lowest address: both fast and the same in every run.
std::optional<std::uint64_t> Arena::FreeRanges::take(std::uint64_t size) {
  auto fit = bySize.lower_bound({size, 0});
  if (fit == bySize.end())
    return std::nullopt;
  auto [found, address] = *fit;
  erase(byAddress.find(address));
  if (found > size) {
    byAddress.emplace(address + size, found - size);
    bySize.emplace(found - size, address + size);
  }
  return address;
}

bool Arena::FreeRanges::takeAt(std::uint64_t address, std::uint64_t size) {
  auto range = byAddress.upper_bound(address);
  if (range == byAddress.begin())
    return false;
  --range;
  auto [begin, found] = *range;
  if (begin + found < address + size)
    return false;
  erase(range);
  if (begin < address)
    insert(begin, address - begin);
  if (address + size < begin + found)
    insert(address + size, begin + found - address - size);
  return true;
}

Arena::Arena(Pages &pages, std::uint64_t base, std::uint64_t size)
    : pages(pages), rangeBase(base), rangeSize(size), isReserved(pages.reserve(base, size)) {
  std::uint64_t granule = pages.granule(), granules = size / granule;
  if (isReserved && granules > 1)
    addresses.insert(base + granule, (granules - 1) * granule);
}

std::uint64_t Arena::allocate(std::uint64_t size) {
  if (!isReserved || size == 0 || size > rangeSize)
    return 0;
  std::lock_guard lock(mutex);
  bool shares = size <= pages.granule() / 2;
  std::uint64_t address =
      shares ? allocateSmall(roundUp(size, Alignment)) : allocateSpan(roundUp(size, pages.granule()));
  if (address)
    live.emplace(address, size);
  return address;
}

std::uint64_t Arena::allocateSmall(std::uint64_t rounded) {
  if (auto address = small.take(rounded))
    return *address;
  std::uint64_t granule = allocateSpan(pages.granule());
  if (!granule)
    return 0;
  sharedGranules.insert(granule);
  small.insert(granule, pages.granule());
  return *small.take(rounded);
}

std::uint64_t Arena::allocateSpan(std::uint64_t rounded) {
  if (!guarded)
    guarded = pages.map(rangeBase, pages.granule());
  if (auto spare = spareSpans.find(rounded); spare != spareSpans.end()) {
    std::uint64_t address = *spare->second.begin();
    spare->second.erase(spare->second.begin());
    if (spare->second.empty())
      spareSpans.erase(spare);
    spareSpanBytes -= rounded;
    return address;
  }
  auto address = addresses.take(rounded);
  if (!address)
    return 0;
  if (pages.map(*address, rounded))
    return *address;
  addresses.insert(*address, rounded);
  if (!spareSpanBytes && small.byAddress.empty())
    return 0;
  trimLocked();
  address = addresses.take(rounded);
  if (address && pages.map(*address, rounded))
    return *address;
  if (address)
    addresses.insert(*address, rounded);
  return 0;
}

bool Arena::release(std::uint64_t address) {
  std::lock_guard lock(mutex);
  auto allocation = live.find(address);
  if (allocation == live.end())
    return false;
  std::uint64_t size = allocation->second;
  live.erase(allocation);
  if (size <= pages.granule() / 2)
    small.insert(address, roundUp(size, Alignment));
  else
    releaseSpan(address, roundUp(size, pages.granule()));
  return true;
}

void Arena::releaseSpan(std::uint64_t address, std::uint64_t rounded) {
  spareSpans[rounded].insert(address);
  spareSpanBytes += rounded;
  if (spareSpanBytes > SpareLimit)
    trimLocked();
}

std::optional<Allocation> Arena::find(std::uint64_t address) const {
  if (!owns(address))
    return std::nullopt;
  std::lock_guard lock(mutex);
  auto after = live.upper_bound(address);
  if (after == live.begin())
    return std::nullopt;
  --after;
  Allocation allocation{after->first, after->second};
  if (!allocation.holds(address))
    return std::nullopt;
  return allocation;
}

std::vector<Allocation> Arena::allocations() const {
  std::lock_guard lock(mutex);
  std::vector<Allocation> all;
  all.reserve(live.size());
  for (auto [address, size] : live)
    all.push_back({address, size});
  return all;
}

std::uint64_t Arena::spareBytes() const {
  std::lock_guard lock(mutex);
  return spareSpanBytes;
}

void Arena::trim() {
  std::lock_guard lock(mutex);
  trimLocked();
}

void Arena::trimLocked() {
  for (const auto &[size, spans] : spareSpans)
    for (std::uint64_t address : spans) {
      pages.unmap(address, size);
      addresses.insert(address, size);
    }
  spareSpans.clear();
  spareSpanBytes = 0;
  for (auto granule = sharedGranules.begin(); granule != sharedGranules.end();) {
    if (small.takeAt(*granule, pages.granule())) {
      pages.unmap(*granule, pages.granule());
      addresses.insert(*granule, pages.granule());
      granule = sharedGranules.erase(granule);
    } else {
      ++granule;
    }
  }
}
