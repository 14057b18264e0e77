// clang takes a __managed__ variable for one of the host, with a warning; r3-nvcc refuses it.
// REQUIRES: cuda, nvptx
// RUN: not %r3_nvcc --cuda-path=%cuda_path -arch=sm_90 --offload-device-only -fsyntax-only %s 2>&1 | FileCheck %s
// CHECK: error: clang has no __managed__ variables; use a pointer from cudaMallocManaged
__managed__ int counter;
