// Programs see __NVCC__ and its version, as they do with nvcc; NVIDIA's own headers see clang.
// REQUIRES: cuda, nvptx
// RUN: %r3_nvcc --cuda-path=%cuda_path -arch=sm_90 --offload-device-only -fsyntax-only %s
// RUN: not %r3_nvcc --r3-no-compat --cuda-path=%cuda_path -arch=sm_90 --offload-device-only -fsyntax-only %s 2>&1 | FileCheck %s
// RUN: cp %s %t.cpp && %r3_nvcc --cuda-path=%cuda_path -DHOST -fsyntax-only %t.cpp
// CHECK: not nvcc
#ifndef HOST
#include <cooperative_groups.h>
#include <cuda/std/cstdint>
#include <nv/target>
#if !_CCCL_CUDA_COMPILER(CLANG) || __CUDACC_VER_MAJOR__ < 11
#error not clang
#endif
#endif
#ifndef __NVCC__
#error not nvcc
#endif
