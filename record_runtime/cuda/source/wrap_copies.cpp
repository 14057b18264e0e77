// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and fills: held back while a snapshot is taken.

#include "wrappers.h"

using namespace r3::cuda;

#define GATED(symbol, suffix, parameters, arguments)                                                         \
  R3_EXPORT CUresult CUDAAPI symbol parameters { return callGated<Entry::symbol> arguments; }                \
  R3_EXPORT CUresult CUDAAPI symbol##suffix parameters { return callGated<Entry::symbol##suffix> arguments; }

GATED(cuMemcpy, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
GATED(cuMemcpyAsync, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      (to, from, size, stream))
GATED(cuMemcpyPeer, _ptds,
      (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size),
      (to, toContext, from, fromContext, size))
GATED(cuMemcpyPeerAsync, _ptsz,
      (CUdeviceptr to, CUcontext toContext, CUdeviceptr from, CUcontext fromContext, size_t size,
       CUstream stream),
      (to, toContext, from, fromContext, size, stream))
GATED(cuMemcpyHtoD_v2, _ptds, (CUdeviceptr to, const void *from, size_t size), (to, from, size))
GATED(cuMemcpyHtoDAsync_v2, _ptsz, (CUdeviceptr to, const void *from, size_t size, CUstream stream),
      (to, from, size, stream))
GATED(cuMemcpyDtoD_v2, _ptds, (CUdeviceptr to, CUdeviceptr from, size_t size), (to, from, size))
GATED(cuMemcpyDtoDAsync_v2, _ptsz, (CUdeviceptr to, CUdeviceptr from, size_t size, CUstream stream),
      (to, from, size, stream))
GATED(cuMemcpy2D_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy))
GATED(cuMemcpy2DUnaligned_v2, _ptds, (const CUDA_MEMCPY2D *copy), (copy))
GATED(cuMemcpy2DAsync_v2, _ptsz, (const CUDA_MEMCPY2D *copy, CUstream stream), (copy, stream))
GATED(cuMemcpy3D_v2, _ptds, (const CUDA_MEMCPY3D *copy), (copy))
GATED(cuMemcpy3DAsync_v2, _ptsz, (const CUDA_MEMCPY3D *copy, CUstream stream), (copy, stream))
GATED(cuMemsetD8_v2, _ptds, (CUdeviceptr to, unsigned char value, size_t count), (to, value, count))
GATED(cuMemsetD16_v2, _ptds, (CUdeviceptr to, unsigned short value, size_t count), (to, value, count))
GATED(cuMemsetD32_v2, _ptds, (CUdeviceptr to, unsigned int value, size_t count), (to, value, count))
GATED(cuMemsetD8Async, _ptsz, (CUdeviceptr to, unsigned char value, size_t count, CUstream stream),
      (to, value, count, stream))
GATED(cuMemsetD16Async, _ptsz, (CUdeviceptr to, unsigned short value, size_t count, CUstream stream),
      (to, value, count, stream))
GATED(cuMemsetD32Async, _ptsz, (CUdeviceptr to, unsigned int value, size_t count, CUstream stream),
      (to, value, count, stream))
