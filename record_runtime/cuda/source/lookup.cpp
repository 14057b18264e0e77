// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the application finds the driver's functions, and gets ours.

#include "dynamic_symbols.h"
#include "entry_points.h"
#include "session.h"

#include <cstring>

using namespace r3::cuda;

namespace {

/// Keeps the driver's function and puts ours in its place.
void substitute(EntryPoint &entry, void **function) {
  if (*function == entry.wrapper)
    return;
  void *none = nullptr;
  entry.real.compare_exchange_strong(none, *function);
  *function = entry.wrapper;
}

/// A newer application may ask for a version of a function that this recorder doesn't know: it has another
/// signature, so the driver gives another address than for the newest version known.
bool isKnownVersion(const char *name, void *function, int version, cuuint64_t flags) {
  if (version <= CUDA_VERSION)
    return true;
  void *newestKnown = nullptr;
  auto lookup = real<Entry::cuGetProcAddress>();
  return lookup && lookup(name, &newestKnown, CUDA_VERSION, flags) == CUDA_SUCCESS && newestKnown == function;
}

void substituteByName(const char *name, void **function, int version, cuuint64_t flags) {
  if (!name || !function || !*function || !Session::wanted())
    return;
  EntryPoint *entry = findName(name, version, flags);
  if (!entry)
    entry = findSymbol(name);
  if (entry && isKnownVersion(name, *function, version, flags))
    substitute(*entry, function);
}

} // namespace

/// The wrapper for a symbol that is looked up, or null. Called by the trampolines.
extern "C" __attribute__((visibility("hidden"))) void *r3_wrapper_for(void *handle, const char *symbol) {
  resolveDynamicLookup();
  if (!symbol || symbol[0] != 'c' || symbol[1] != 'u' || !Session::wanted())
    return nullptr;
  EntryPoint *entry = findSymbol(symbol);
  if (!entry)
    return nullptr;
  void *function = reinterpret_cast<void *(*)(void *, const char *)>(r3_real_dlsym)(handle, symbol);
  if (!function)
    return nullptr; // the real one, asked again, sets the caller's dlerror
  substitute(*entry, &function);
  return function;
}

#define R3_EXPORT extern "C" __attribute__((visibility("default")))

R3_EXPORT CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version,
                                            cuuint64_t flags) {
  CUresult result = callReal<Entry::cuGetProcAddress>(symbol, function, version, flags);
  if (result == CUDA_SUCCESS)
    substituteByName(symbol, function, version, flags);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuGetProcAddress_v2(const char *symbol, void **function, int version,
                                               cuuint64_t flags, CUdriverProcAddressQueryResult *status) {
  CUresult result = callReal<Entry::cuGetProcAddress_v2>(symbol, function, version, flags, status);
  if (result == CUDA_SUCCESS)
    substituteByName(symbol, function, version, flags);
  return result;
}
