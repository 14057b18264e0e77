// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many launches that read one large table and write little: what each further snapshot costs.
//   shared_tables MEBIBYTES LAUNCHES
// Prints the bandwidths, in bytes a second, of a plain copy of the table to the host and of a kernel that
// reads it where it lies.
#include "check.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

constexpr int kOut = 1 << 14;

__device__ uint64_t mixed(uint64_t x) {
  x ^= x >> 33;
  x *= 0xff51afd7ed558ccdull;
  x ^= x >> 33;
  return x;
}

__global__ void fill_noise(uint64_t *words, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    words[i] = mixed(i + 1);
}

__global__ void look_up(const uint64_t *table, size_t count, uint64_t *out, uint64_t step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < kOut)
    out[i] += table[mixed(i * step) % count];
}

__global__ void read_all(const uint64_t *table, size_t count, uint64_t *out) {
  uint64_t sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x)
    sum ^= table[i];
  if (sum == 1)
    *out = sum;
}

template <typename Work> double seconds(Work work) {
  CHECK(cudaDeviceSynchronize());
  const auto begin = std::chrono::steady_clock::now();
  work();
  CHECK(cudaDeviceSynchronize());
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

int main(int argc, char **argv) {
  const size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 64) << 20;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 100;
  const size_t count = bytes / sizeof(uint64_t);
  uint64_t *table, *out;
  CHECK(cudaMalloc(&table, bytes));
  CHECK(cudaMalloc(&out, kOut * sizeof(uint64_t)));
  CHECK(cudaMemset(out, 0, kOut * sizeof(uint64_t)));
  fill_noise<<<1024, 256>>>(table, count);
  for (int i = 0; i < launches; ++i)
    look_up<<<kOut / 256, 256>>>(table, count, out, uint64_t(i + 1));
  CHECK(cudaDeviceSynchronize());

  std::vector<char> host(std::min<size_t>(bytes, size_t(256) << 20));
  double copy = 0, read = 0;
  for (int round = 0; round < 2; ++round) { // the first one pays for the host's pages, and for loading code
    copy = seconds([&] { CHECK(cudaMemcpy(host.data(), table, host.size(), cudaMemcpyDeviceToHost)); });
    read = seconds([&] { read_all<<<2048, 256>>>(table, count, out); });
  }
  std::printf("%.0f %.0f\n", host.size() / copy, bytes / read);
  CHECK(cudaFree(out));
  CHECK(cudaFree(table));
  return 0;
}
