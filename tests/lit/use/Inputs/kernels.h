// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that share all that can be shared: a variable that one writes and another reads, a constant table, a function
// that stays a function, shared memory.
#include "minicuda.h"

static __device__ float state[32];
__constant__ float table[8];
static __device__ const int order[4] = {3, 1, 0, 2};

__device__ __attribute__((noinline)) float helper(float x, int k) { return x * table[k & 7] + order[k & 3]; }

__global__ void step(int n, float *x, const float *y) {
  __shared__ float tile[64];
  int i = thread();
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += helper(x[i + k], k) + y[k];
  tile[i & 63] = sum;
  __syncthreads();
  x[i] = tile[(i + 1) & 63] + state[i & 31];
}

__global__ void advance(float *x) { state[thread() & 31] += helper(x[thread()], 3); }

template <typename Number> __global__ void scale(Number *x, Number by) {
  for (int k = 0; k < 16; ++k)
    x[16 * thread() + k] *= by;
}

inline void launch_all(float *x, double *z, dim3 grid, dim3 block) {
  step<<<grid, block>>>(3, x, x);
  advance<<<grid, block>>>(x);
  scale<<<grid, block>>>(z, 2.0);
}
