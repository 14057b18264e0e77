// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc accepts in CUDA sources and clang doesn't. r3-nvcc includes it before every CUDA source,
// r3-clang++ with --r3-compat.
#ifndef R3_NVCC_COMPAT_H
#define R3_NVCC_COMPAT_H
#if defined(__CUDACC__) && defined(__clang__)

#endif
#endif
