// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One launch that changes all of a large buffer: what a snapshot costs.
//   touch_memory MEBIBYTES noise|smooth|distinct
// Prints the bandwidth of a plain copy to the host, in bytes a second.
#include "check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime.h>
#include <vector>

__device__ uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  return x;
}

// Words that no compressor shortens.
__global__ void fill_noise(uint64_t *words, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] = mixed(i + 1);
}

// One that no two of the recorder's chunks share, though each compresses well.
__global__ void fill_distinct(uint64_t *words, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] = __double_as_longlong(300.0 + double(i / 64 % 1024) + double(i >> 15) * 0x1p-20);
}

// A smooth field, as simulations have: neighbouring doubles differ little.
__global__ void fill_smooth(uint64_t *words, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] = __double_as_longlong(300.0 + double(i / 64 % 1024));
}

__global__ void touch(uint64_t *words, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] = words[i] * 3 + 1;
}

int main(int argc, char **argv) {
  const size_t count = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) * (1 << 20) / sizeof(uint64_t);
  const char *content = argc > 2 ? argv[2] : "noise";
  uint64_t *words;
  CHECK(cudaMalloc(&words, count * sizeof(uint64_t)));
  if (std::strcmp(content, "smooth") == 0)
    fill_smooth<<<1024, 256>>>(words, count);
  else if (std::strcmp(content, "distinct") == 0)
    fill_distinct<<<1024, 256>>>(words, count);
  else
    fill_noise<<<1024, 256>>>(words, count);
  CHECK(cudaDeviceSynchronize());
  touch<<<1024, 256>>>(words, count);
  CHECK(cudaDeviceSynchronize());

  std::vector<uint64_t> host(std::min<size_t>(count, size_t(256) << 17)); // of a large buffer a part will do
  const size_t bytes = host.size() * sizeof(uint64_t);
  for (int round = 0; round < 2; ++round) { // the first one pays for the host's pages
    const auto begin = std::chrono::steady_clock::now();
    CHECK(cudaMemcpy(host.data(), words, bytes, cudaMemcpyDeviceToHost));
    const auto end = std::chrono::steady_clock::now();
    if (round == 1)
      std::printf("%.0f\n", bytes / std::chrono::duration<double>(end - begin).count());
  }
  CHECK(cudaFree(words));
  return 0;
}
