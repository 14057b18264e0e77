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
GATED(cuMemcpyDtoH_v2, _ptds, (void *to, CUdeviceptr from, size_t size), (to, from, size))
GATED(cuMemcpyDtoHAsync_v2, _ptsz, (void *to, CUdeviceptr from, size_t size, CUstream stream),
      (to, from, size, stream))
GATED(cuMemcpyAtoD_v2, _ptds, (CUdeviceptr to, CUarray from, size_t offset, size_t size),
      (to, from, offset, size))
GATED(cuMemcpy3DPeer, _ptds, (const CUDA_MEMCPY3D_PEER *copy), (copy))
GATED(cuMemcpy3DPeerAsync, _ptsz, (const CUDA_MEMCPY3D_PEER *copy, CUstream stream), (copy, stream))
GATED(cuMemsetD2D8_v2, _ptds,
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height),
      (to, pitch, value, width, height))
GATED(cuMemsetD2D16_v2, _ptds,
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height),
      (to, pitch, value, width, height))
GATED(cuMemsetD2D32_v2, _ptds,
      (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height),
      (to, pitch, value, width, height))
GATED(cuMemsetD2D8Async, _ptsz,
      (CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream),
      (to, pitch, value, width, height, stream))
GATED(cuMemsetD2D16Async, _ptsz,
      (CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream),
      (to, pitch, value, width, height, stream))
GATED(cuMemsetD2D32Async, _ptsz,
      (CUdeviceptr to, size_t pitch, unsigned int value, size_t width, size_t height, CUstream stream),
      (to, pitch, value, width, height, stream))
GATED(cuStreamWriteValue32_v2, _ptsz, (CUstream stream, CUdeviceptr to, cuuint32_t value, unsigned int flags),
      (stream, to, value, flags))
GATED(cuStreamWriteValue64_v2, _ptsz, (CUstream stream, CUdeviceptr to, cuuint64_t value, unsigned int flags),
      (stream, to, value, flags))
GATED(cuStreamBatchMemOp_v2, _ptsz,
      (CUstream stream, unsigned int count, CUstreamBatchMemOpParams *operations, unsigned int flags),
      (stream, count, operations, flags))
#if CUDA_VERSION >= 12080
GATED(cuMemcpyBatchAsync, _ptsz,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
       size_t *attributeIndices, size_t attributeCount, size_t *failed, CUstream stream),
      (to, from, sizes, count, attributes, attributeIndices, attributeCount, failed, stream))
GATED(cuMemcpy3DBatchAsync, _ptsz,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *failed, unsigned long long flags,
       CUstream stream),
      (count, copies, failed, flags, stream))
#endif
#if CUDA_VERSION >= 13000
GATED(cuMemcpyBatchAsync_v2, _ptsz,
      (CUdeviceptr * to, CUdeviceptr *from, size_t *sizes, size_t count, CUmemcpyAttributes *attributes,
       size_t *attributeIndices, size_t attributeCount, CUstream stream),
      (to, from, sizes, count, attributes, attributeIndices, attributeCount, stream))
GATED(cuMemcpy3DBatchAsync_v2, _ptsz,
      (size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, unsigned long long flags, CUstream stream),
      (count, copies, flags, stream))
#endif
