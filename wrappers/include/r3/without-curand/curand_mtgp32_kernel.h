// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// clang includes this header of cuRAND with every CUDA source; r3-nvcc lets it find this one where the
// toolkit has none. A program that uses cuRAND includes <curand_kernel.h>, and needs the real one.
