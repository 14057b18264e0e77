// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "reach.h"

#include <algorithm>
#include <cstring>

using namespace r3;

Reach::Reach(std::vector<Allocation> allocations, std::vector<ForeignRange> ranges)
    : all(std::move(allocations)), foreign(std::move(ranges)), marks(all.size(), false) {
  if (!all.empty()) {
    low = all.front().address;
    high = all.back().address + all.back().size;
  }
  std::sort(foreign.begin(), foreign.end(),
            [](const ForeignRange &a, const ForeignRange &b) { return a.address < b.address; });
  for (const ForeignRange &range : foreign)
    for (Source source : {Source::Roots, Source::Memory}) {
      Bounds &bounds = foreignBounds[int(source)];
      if (source == Source::Memory && !range.matchesInMemory)
        continue;
      bounds.low = std::min(bounds.low, range.address);
      bounds.high = std::max(bounds.high, range.address + range.size);
    }
}

void Reach::scan(const std::uint8_t *bytes, std::size_t size, Source source) {
  const Bounds bounds = foreignBounds[int(source)];
  for (std::size_t at = 0; at + 8 <= size; at += 8) {
    std::uint64_t word;
    std::memcpy(&word, bytes + at, 8);
    if (word >= low && word <= high)
      consider(word, source);
    else if (word >= bounds.low && word < bounds.high)
      considerForeign(word, source);
  }
}

void Reach::addAll() {
  for (std::size_t i = 0; i < all.size(); ++i)
    mark(i);
}

std::ptrdiff_t Reach::takePending() {
  if (pending.empty())
    return -1;
  std::size_t index = pending.back();
  pending.pop_back();
  return std::ptrdiff_t(index);
}

void Reach::consider(std::uint64_t word, Source source) {
  auto after = std::upper_bound(all.begin(), all.end(), word,
                                [](std::uint64_t value, const Allocation &a) { return value < a.address; });
  bool inside = false;
  // The one that starts at or before the word, and the one before that, which may end exactly there.
  for (int back = 1; back <= 2 && after - all.begin() >= back; ++back) {
    auto allocation = after - back;
    if (word - allocation->address <= allocation->size) {
      mark(std::size_t(allocation - all.begin()));
      inside = true;
    }
  }
  if (!inside)
    considerForeign(word, source);
}

void Reach::considerForeign(std::uint64_t word, Source source) {
  auto after = std::upper_bound(foreign.begin(), foreign.end(), word,
                                [](std::uint64_t value, const ForeignRange &f) { return value < f.address; });
  if (after == foreign.begin())
    return;
  const ForeignRange &range = *std::prev(after);
  if (word - range.address < range.size && (source == Source::Roots || range.matchesInMemory))
    reason = range.reason.c_str();
}

const std::vector<PointerTarget> &Reach::targets() {
  if (!asTargets.empty())
    return asTargets;
  auto target = [&](std::size_t number) -> PointerTarget {
    if (number < all.size())
      return {all[number].address, all[number].address + all[number].size}; // one past counts
    const ForeignRange &range = foreign[number - all.size()];
    return {range.address, range.address + range.size - 1};
  };
  for (std::size_t number = 0; number < all.size() + foreign.size(); ++number)
    if (number < all.size() ||
        (foreign[number - all.size()].matchesInMemory && foreign[number - all.size()].size))
      targetNumbers.push_back(number);
  std::sort(targetNumbers.begin(), targetNumbers.end(),
            [&](std::size_t a, std::size_t b) { return target(a).first < target(b).first; });
  for (std::size_t number : targetNumbers)
    asTargets.push_back(target(number));
  return asTargets;
}

void Reach::found(const std::vector<std::uint8_t> &hits) {
  for (std::size_t i = 0; i < hits.size(); ++i)
    if (hits[i] && targetNumbers[i] < all.size())
      mark(targetNumbers[i]);
    else if (hits[i])
      reason = foreign[targetNumbers[i] - all.size()].reason.c_str();
}

void Reach::mark(std::size_t index) {
  if (marks[index])
    return;
  marks[index] = true;
  pending.push_back(index);
}
