// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace r3 {

/// Finds, in copied bytes, the words that could be pointers into allocations or into foreign memory.
///
/// Conservative: any aligned 8-byte word whose value lies in an allocation, or just past its end, counts.
class Reach {
public:
  /// `allocations` ascend by address.
  Reach(std::vector<Allocation> allocations, std::vector<ForeignRange> foreign);

  enum class Source { Roots, Memory };
  /// Looks through `size` bytes; a word that names foreign memory sets foreignReason().
  void scan(const std::uint8_t *bytes, std::size_t size, Source source);
  void addAll();

  /// All that a word in memory may name, sorted by address, for a search by others than scan().
  const std::vector<PointerTarget> &targets();
  /// As if scan() had met words in those targets of which `hits` isn't 0.
  void found(const std::vector<std::uint8_t> &hits);

  /// Index of an allocation that was reached and not yet taken, or -1.
  std::ptrdiff_t takePending();

  const std::vector<Allocation> &allocations() const { return all; }
  bool reached(std::size_t index) const { return marks[index]; }
  /// Why the launch is not recordable; null when it is.
  const char *foreignReason() const { return reason; }

private:
  void consider(std::uint64_t word, Source source);
  void considerForeign(std::uint64_t word, Source source);
  void mark(std::size_t index);

  std::vector<Allocation> all;
  std::vector<ForeignRange> foreign;
  std::vector<PointerTarget> asTargets;   // empty until asked for
  std::vector<std::size_t> targetNumbers; // in `all`, or behind its end in `foreign`
  std::vector<bool> marks;
  std::vector<std::size_t> pending;
  std::uint64_t low = UINT64_MAX, high = 0; // of all allocations, one-past included
  struct Bounds {
    std::uint64_t low = UINT64_MAX, high = 0;
  };
  Bounds foreignBounds[2]; // of the foreign ranges that matter to each source
  const char *reason = nullptr;
};

} // namespace r3
