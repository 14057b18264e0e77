// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "lz4_block.h"

#include <cstring>

namespace {

/// A length that continues in bytes of 255; false at the end of the input.
bool addLength(const std::uint8_t *&at, const std::uint8_t *end, std::size_t &length) {
  for (std::uint8_t more = 255; more == 255; length += more) {
    if (at == end)
      return false;
    more = *at++;
  }
  return true;
}

} // namespace

bool r3::cuda::decompressLz4(const std::uint8_t *at, std::size_t fromSize, std::uint8_t *to,
                             std::size_t size) {
  const std::uint8_t *end = at + fromSize;
  std::size_t done = 0;
  while (at != end && done < size) {
    std::uint8_t token = *at++;
    std::size_t literals = token >> 4, match = token & 15;
    if (literals == 15 && !addLength(at, end, literals))
      return false;
    if (literals > std::size_t(end - at) || literals > size - done)
      return false;
    std::memcpy(to + done, at, literals);
    at += literals;
    done += literals;
    if (done == size)
      return true; // the last sequence has no match
    if (end - at < 2)
      return false;
    std::size_t distance = std::size_t(at[0]) | std::size_t(at[1]) << 8;
    at += 2;
    if (match == 15 && !addLength(at, end, match))
      return false;
    match += 4;
    if (distance == 0 || distance > done || match > size - done)
      return false;
    for (std::size_t i = 0; i < match; ++i, ++done) // may overlap what it writes
      to[done] = to[done - distance];
  }
  return done == size;
}
