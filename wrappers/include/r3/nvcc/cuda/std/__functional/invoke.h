// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVIDIA's header, which must know that the compiler is clang: r3-nvcc shows __NVCC__ to programs alone.
#pragma GCC system_header
#pragma push_macro("__NVCC__")
#undef __NVCC__
#include_next <cuda/std/__functional/invoke.h>
#pragma pop_macro("__NVCC__")
