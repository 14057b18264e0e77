// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_runtime.h>
#include "operators.h"

#define KERNEL(name) __global__ void name
#define GENERATED(type)                                                                                      \
  __global__ void generated_##type(type *x) { x[0] += x[1]; }

__device__ int calls;
__device__ double others;
__constant__ double weights[4];

namespace {

__device__ double hidden(double a) { return a * weights[1]; }

template <int Times>
__launch_bounds__(256) __global__ void templated(double *x, const double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll
  for (int k = 0; k < Times; ++k)
    x[i] += hidden(y[i]) + square(y[i]);
}

} // namespace

extern "C" __global__ void
plain(double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  auto twice = [](double value) { return square(value) + 1.0; };
  if (i < n) {
    x[i] = Scale{2.0}(twice(x[i])) + hidden(x[i]);
    atomicAdd(&calls, 1);
  }
}

KERNEL(wrapped)(double *x) { x[0] = Scale{3.0} + x[1]; }

GENERATED(float)

__global__ void unrelated(double *x) { others += x[0]; }

void start(double *x) {
  templated<3><<<1, 128>>>(x, x + 128);
  cudaMemcpyToSymbol(weights, x, sizeof weights);
}
