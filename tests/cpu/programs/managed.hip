// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Managed variables and managed memory, changed by kernels and read by the host.
#include <cstdio>
#include <hip/hip_runtime.h>

__managed__ int counters[64] = {1, 2, 3};

__global__ void advance(int *out) {
  counters[threadIdx.x] += int(threadIdx.x);
  out[threadIdx.x] = 2 * counters[threadIdx.x];
}

int main() {
  int *out, wrong = 0;
  if (hipMallocManaged(&out, 64 * sizeof(int)) != hipSuccess)
    return 1;
  advance<<<1, 64>>>(out);
  if (hipDeviceSynchronize() != hipSuccess)
    return 1;
  for (int i = 0; i < 64; ++i)
    wrong += counters[i] != (i < 3 ? i + 1 : 0) + i || out[i] != 2 * counters[i];
  std::printf("%d wrong\n", wrong);
}
