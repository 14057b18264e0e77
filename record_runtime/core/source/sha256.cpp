// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/notes.h"

#include <cstring>

namespace {

constexpr std::uint32_t Constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t rotate(std::uint32_t value, int by) { return value >> by | value << (32 - by); }

void compress(std::uint32_t (&state)[8], const std::uint8_t *block) {
  std::uint32_t words[64];
  for (int i = 0; i < 16; ++i)
    words[i] = std::uint32_t(block[4 * i]) << 24 | std::uint32_t(block[4 * i + 1]) << 16 |
               std::uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    std::uint32_t s0 = rotate(words[i - 15], 7) ^ rotate(words[i - 15], 18) ^ words[i - 15] >> 3;
    std::uint32_t s1 = rotate(words[i - 2], 17) ^ rotate(words[i - 2], 19) ^ words[i - 2] >> 10;
    words[i] = words[i - 16] + s0 + words[i - 7] + s1;
  }
  std::uint32_t v[8];
  std::memcpy(v, state, sizeof(v));
  for (int i = 0; i < 64; ++i) {
    std::uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
    std::uint32_t first = v[7] + s1 + ((v[4] & v[5]) ^ (~v[4] & v[6])) + Constants[i] + words[i];
    std::uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
    std::uint32_t second = s0 + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
    std::memmove(v + 1, v, 7 * sizeof(v[0]));
    v[4] += first;
    v[0] = first + second;
  }
  for (int i = 0; i < 8; ++i)
    state[i] += v[i];
}

} // namespace

std::array<std::uint8_t, 32> r3::sha256(const void *data, std::size_t size) {
  std::uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                            0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  const auto *bytes = static_cast<const std::uint8_t *>(data);
  std::size_t whole = size / 64 * 64;
  for (std::size_t at = 0; at < whole; at += 64)
    compress(state, bytes + at);

  std::uint8_t tail[128] = {};
  std::size_t rest = size - whole;
  if (rest)
    std::memcpy(tail, bytes + whole, rest);
  tail[rest] = 0x80;
  std::size_t padded = rest < 56 ? 64 : 128;
  for (int i = 0; i < 8; ++i)
    tail[padded - 1 - i] = std::uint8_t(std::uint64_t(size) * 8 >> 8 * i);
  for (std::size_t at = 0; at < padded; at += 64)
    compress(state, tail + at);

  std::array<std::uint8_t, 32> digest;
  for (int i = 0; i < 32; ++i)
    digest[i] = std::uint8_t(state[i / 4] >> (24 - 8 * (i % 4)));
  return digest;
}
