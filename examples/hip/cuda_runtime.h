// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA runtime that the examples use, by HIP's names: with -I examples/hip their sources are HIP's.
//
//   r3-hipcc --offload-arch=gfx90a -I examples/hip -x hip examples/cg/cg.cu -o cg
#ifndef R3_EXAMPLES_HIP_CUDA_RUNTIME_H
#define R3_EXAMPLES_HIP_CUDA_RUNTIME_H

#include <hip/hip_runtime.h>

#define cudaError_t hipError_t
#define cudaSuccess hipSuccess
#define cudaGetErrorString hipGetErrorString
#define cudaGetLastError hipGetLastError
#define cudaMalloc hipMalloc
#define cudaFree hipFree
#define cudaMemcpy hipMemcpy
#define cudaMemset hipMemset
#define cudaMemcpyHostToDevice hipMemcpyHostToDevice
#define cudaMemcpyDeviceToHost hipMemcpyDeviceToHost
#define cudaMemcpyDeviceToDevice hipMemcpyDeviceToDevice
#define cudaMemcpyToSymbol(symbol, ...) hipMemcpyToSymbol(HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaMemcpyFromSymbol(target, symbol, ...) hipMemcpyFromSymbol(target, HIP_SYMBOL(symbol), __VA_ARGS__)
#define cudaDeviceSynchronize hipDeviceSynchronize

// HIP's names no lanes; groups of 32 as in CUDA, also where a wave has 64.
#define __shfl_down_sync(mask, value, delta) __shfl_down(value, delta, 32)

#endif
