// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the fake driver runs in place of the recorder's own kernels
// (record_runtime/cuda/source/chunk_kernels.cu): the same arguments, the same meaning, another hash.
#pragma once

#include "fake_image.h"

#include <algorithm>
#include <cstring>

namespace fake {

inline void fingerprints(const Launch &launch) {
  const auto *memory = launch.argument<const unsigned char *>(0);
  const auto size = launch.argument<std::uint64_t>(1), chunk = launch.argument<std::uint64_t>(2);
  auto *out = launch.argument<std::uint64_t *>(3);
  for (std::uint64_t begin = 0; begin < size; begin += chunk) {
    std::uint64_t first = 0xcbf29ce484222325, second = 0x9e3779b97f4a7c15;
    for (std::uint64_t i = begin, end = std::min(size, begin + chunk); i < end; i += 8) {
      std::uint64_t word = 0;
      std::memcpy(&word, memory + i, std::min<std::uint64_t>(8, end - i));
      first = (first ^ word) * 0x100000001b3;
      second = (second + word) * 0xff51afd7ed558ccd ^ second >> 29;
    }
    *out++ = first;
    *out++ = second;
  }
}

struct Target {
  std::uint64_t first, last;
};

inline void findPointers(const Launch &launch) {
  const auto *words = launch.argument<const std::uint64_t *>(0);
  const auto *targets = launch.argument<const Target *>(2);
  const auto count = launch.argument<std::uint32_t>(3);
  auto *hits = launch.argument<unsigned char *>(4);
  for (std::uint64_t i = 0; i < launch.argument<std::uint64_t>(1); ++i)
    for (std::uint32_t t = 0; t < count; ++t)
      hits[t] |= words[i] >= targets[t].first && words[i] <= targets[t].last;
}

inline const Parameter fingerprintParameters[] = {{0, 8}, {8, 8}, {16, 8}, {24, 8}};
inline const Parameter pointerParameters[] = {{0, 8}, {8, 8}, {16, 8}, {24, 4}, {32, 8}};
inline const Function chunkFunctions[] = {{"r3_fingerprints", fingerprints, fingerprintParameters, 4},
                                          {"r3_find_pointers", findPointers, pointerParameters, 5}};
inline const Image chunkKernels = [] {
  Image image;
  image.ptxVersion = image.binaryVersion = 90;
  image.functions = chunkFunctions;
  image.functionCount = 2;
  image.globals = nullptr;
  image.globalCount = 0;
  return image;
}();

} // namespace fake
