// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of CUDA as clang needs to compile a kernel and its host stub.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __host__ __attribute__((host))
#define __constant__ __attribute__((constant))
#define __shared__ __attribute__((shared))

typedef __SIZE_TYPE__ size_t;
struct dim3 {
  unsigned x, y, z;
  __host__ __device__ constexpr dim3(unsigned X = 1, unsigned Y = 1, unsigned Z = 1) : x(X), y(Y), z(Z) {}
};
typedef struct Stream *cudaStream_t;

extern "C" int cudaLaunchKernel(const void *Kernel, dim3 Grid, dim3 Block, void **Arguments, size_t Shared, cudaStream_t);
extern "C" unsigned __cudaPushCallConfiguration(dim3 Grid, dim3 Block, size_t Shared = 0, cudaStream_t Stream = nullptr);

__device__ inline int thread() { return __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + __nvvm_read_ptx_sreg_tid_x(); }
