// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Launches over a large table of odd size, which hold pointers to one another's memory; prints a checksum.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

#define OK(call)                                                                                             \
  if ((call) != cudaSuccess) {                                                                               \
    std::printf("%s: %s\n", #call, cudaGetErrorString(cudaGetLastError()));                                  \
    std::exit(1);                                                                                            \
  }

struct Table {
  uint64_t words[(3 << 20) + 5]; // 24 MiB and some bytes: the last chunk is short, and no whole vector
  Table *next;
};

__global__ void fill(Table *table, uint64_t seed) {
  const size_t count = sizeof(table->words) / sizeof(uint64_t);
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x)
    table->words[i] = (i + seed) * 0x9e3779b97f4a7c15ull;
}

/// Changes the last word of every table and, in the first one, a word that `step` names.
__global__ void walk(Table *table, uint64_t step) {
  table->words[step * 4099] += step;
  for (; table; table = table->next)
    table->words[(3 << 20) + 4] += step;
}

/// Writes where no argument leads to.
__global__ void hidden(uint64_t masked) { reinterpret_cast<Table *>(~masked)->words[1 << 20] += 1; }

int main() {
  Table *tables[3];
  for (int i = 2; i >= 0; --i) {
    OK(cudaMalloc(&tables[i], sizeof(Table)));
    OK(cudaMemset(tables[i], 0, sizeof(Table)));
    fill<<<256, 256>>>(tables[i], i);
    Table *next = i < 2 ? tables[i + 1] : nullptr;
    OK(cudaMemcpy(&tables[i]->next, &next, sizeof(next), cudaMemcpyHostToDevice));
  }
  for (int step = 1; step <= 20; ++step)
    walk<<<1, 1>>>(tables[0], step);
  for (int i = 0; i < 3; ++i)
    hidden<<<1, 1>>>(~reinterpret_cast<uint64_t>(tables[1]));
  OK(cudaDeviceSynchronize());
  uint64_t sum = 0;
  for (Table *table : tables) {
    static Table host;
    OK(cudaMemcpy(&host, table, sizeof(host), cudaMemcpyDeviceToHost));
    for (uint64_t word : host.words)
      sum = sum * 31 + word;
  }
  std::printf("%llu\n", static_cast<unsigned long long>(sum));
}
