// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loading and unloading of device code.

#include "wrappers.h"

using namespace r3::cuda;

R3_EXPORT CUresult CUDAAPI cuLibraryLoadData(CUlibrary *library, const void *code, CUjit_option *jitOptions,
                                             void **jitValues, unsigned int jitCount,
                                             CUlibraryOption *options, void **values, unsigned int count) {
  Call call;
  CUresult result = callReal<Entry::cuLibraryLoadData>(library, code, jitOptions, jitValues, jitCount,
                                                       options, values, count);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loaded(*library, code);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuLibraryLoadFromFile(CUlibrary *library, const char *path,
                                                 CUjit_option *jitOptions, void **jitValues,
                                                 unsigned int jitCount, CUlibraryOption *options,
                                                 void **values, unsigned int count) {
  Call call;
  CUresult result = callReal<Entry::cuLibraryLoadFromFile>(library, path, jitOptions, jitValues, jitCount,
                                                           options, values, count);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loadedFile(*library, path);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuLibraryUnload(CUlibrary library) {
  Call call;
  if (call.session) {
    call.session->images.unloaded(library);
    call.session->targets.forget();
  }
  return callReal<Entry::cuLibraryUnload>(library);
}

R3_EXPORT CUresult CUDAAPI cuModuleLoad(CUmodule *module, const char *path) {
  Call call;
  CUresult result = callReal<Entry::cuModuleLoad>(module, path);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loadedFile(*module, path);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuModuleLoadData(CUmodule *module, const void *image) {
  Call call;
  CUresult result = callReal<Entry::cuModuleLoadData>(module, image);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loaded(*module, image);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned int count,
                                              CUjit_option *options, void **values) {
  Call call;
  CUresult result = callReal<Entry::cuModuleLoadDataEx>(module, image, count, options, values);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loaded(*module, image);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuModuleLoadFatBinary(CUmodule *module, const void *image) {
  Call call;
  CUresult result = callReal<Entry::cuModuleLoadFatBinary>(module, image);
  if (call.session && result == CUDA_SUCCESS)
    call.session->images.loaded(*module, image);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuModuleUnload(CUmodule module) {
  Call call;
  if (call.session) {
    call.session->images.unloaded(module);
    call.session->targets.forget();
  }
  return callReal<Entry::cuModuleUnload>(module);
}

R3_EXPORT CUresult CUDAAPI cuCtxDestroy_v2(CUcontext context) {
  Call call;
  if (call.session) {
    call.session->collectTimes();
    call.session->contextGone(context);
  }
  return callReal<Entry::cuCtxDestroy_v2>(context);
}

namespace {

/// A device's primary context while it lives; null without one.
CUcontext primaryContext(CUdevice device) {
  unsigned flags = 0;
  int lives = 0;
  CUcontext context = nullptr;
  if (driver().cuDevicePrimaryCtxGetState(device, &flags, &lives) != CUDA_SUCCESS || !lives ||
      driver().cuDevicePrimaryCtxRetain(&context, device) != CUDA_SUCCESS)
    return nullptr;
  driver().cuDevicePrimaryCtxRelease_v2(device);
  return context;
}

} // namespace

R3_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxReset_v2(CUdevice device) {
  Call call;
  if (CUcontext context = call.session ? primaryContext(device) : nullptr) {
    call.session->collectTimes();
    call.session->contextGone(context);
  }
  return callReal<Entry::cuDevicePrimaryCtxReset_v2>(device);
}

/// The last release ends it.
R3_EXPORT CUresult CUDAAPI cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  Call call;
  CUcontext context = call.session ? primaryContext(device) : nullptr;
  if (context)
    call.session->collectTimes();
  CUresult result = callReal<Entry::cuDevicePrimaryCtxRelease_v2>(device);
  if (context && result == CUDA_SUCCESS && !primaryContext(device))
    call.session->contextGone(context);
  return result;
}
