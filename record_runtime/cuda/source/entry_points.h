// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda.h>

// cuda.h maps these to _v2; both are entry points.
#undef cuGetProcAddress
#undef cuMemcpyBatchAsync
#undef cuMemcpy3DBatchAsync

#include <atomic>
#include <cstddef>

extern "C" {
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags);
#if CUDA_VERSION >= 13000 // as they were in CUDA 12.8
CUresult CUDAAPI cuMemcpyBatchAsync(CUdeviceptr *to, CUdeviceptr *from, size_t *sizes, size_t count,
                                    CUmemcpyAttributes *attributes, size_t *attributeIndices,
                                    size_t attributeCount, size_t *failed, CUstream stream);
CUresult CUDAAPI cuMemcpy3DBatchAsync(size_t count, CUDA_MEMCPY3D_BATCH_OP *copies, size_t *failed,
                                      unsigned long long flags, CUstream stream);
#endif
#define ENTRY(symbol, name, version)
#define PAIR(symbol, name, version, suffix) decltype(symbol) symbol##suffix;
#include "entry_points.def"
#undef ENTRY
#undef PAIR
}

namespace r3::cuda {

enum class Entry : unsigned {
#define ENTRY(symbol, name, version) symbol,
#define PAIR(symbol, name, version, suffix) symbol, symbol##suffix,
#include "entry_points.def"
#undef ENTRY
#undef PAIR
  Count
};

template <Entry E> struct Signature;
#define ENTRY(symbol, name, version)                                                                         \
  template <> struct Signature<Entry::symbol> {                                                              \
    using Type = decltype(::symbol) *;                                                                       \
    static constexpr bool PerThread = false;                                                                 \
  };
#define PAIR(symbol, name, version, suffix)                                                                  \
  ENTRY(symbol, name, version)                                                                               \
  template <> struct Signature<Entry::symbol##suffix> {                                                      \
    using Type = decltype(::symbol) *;                                                                       \
    static constexpr bool PerThread = true;                                                                  \
  };
#include "entry_points.def"
#undef ENTRY
#undef PAIR

/// One wrapped entry point.
struct EntryPoint {
  const char *symbol; ///< as libcuda exports it
  const char *name;   ///< as cuGetProcAddress takes it
  int version;
  bool perThread;
  void *wrapper;
  std::atomic<void *> real; ///< the driver's own, once known
};

EntryPoint &entryPoint(Entry entry);
/// By exported symbol; null if it isn't wrapped.
EntryPoint *findSymbol(const char *symbol);
/// By what cuGetProcAddress was asked for; null if it isn't wrapped.
EntryPoint *findName(const char *name, int version, cuuint64_t flags);
/// The driver's own function; null if no driver is loaded or it lacks the function.
void *resolveReal(EntryPoint &entry);

template <Entry E> typename Signature<E>::Type real() {
  EntryPoint &entry = entryPoint(E);
  void *function = entry.real.load(std::memory_order_acquire);
  return reinterpret_cast<typename Signature<E>::Type>(function ? function : resolveReal(entry));
}

/// Calls the driver's own function, or says that there is none.
template <Entry E, typename... Arguments> CUresult callReal(Arguments... arguments) {
  auto function = real<E>();
  return function ? function(arguments...) : CUDA_ERROR_NOT_FOUND;
}

} // namespace r3::cuda
