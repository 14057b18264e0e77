// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texture and surface objects: seen, so that launches of code without a note that may use one are refused.

#include "wrappers.h"

using namespace r3::cuda;

R3_EXPORT CUresult CUDAAPI cuTexObjectCreate(CUtexObject *handle, const CUDA_RESOURCE_DESC *resource,
                                             const CUDA_TEXTURE_DESC *texture,
                                             const CUDA_RESOURCE_VIEW_DESC *view) {
  Call call;
  CUresult result = callReal<Entry::cuTexObjectCreate>(handle, resource, texture, view);
  if (call.session && result == CUDA_SUCCESS)
    call.session->textures.made(*handle);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuTexObjectDestroy(CUtexObject handle) {
  Call call;
  if (call.session)
    call.session->textures.gone(handle);
  return callReal<Entry::cuTexObjectDestroy>(handle);
}

R3_EXPORT CUresult CUDAAPI cuSurfObjectCreate(CUsurfObject *handle, const CUDA_RESOURCE_DESC *resource) {
  Call call;
  CUresult result = callReal<Entry::cuSurfObjectCreate>(handle, resource);
  if (call.session && result == CUDA_SUCCESS)
    call.session->textures.made(*handle);
  return result;
}

R3_EXPORT CUresult CUDAAPI cuSurfObjectDestroy(CUsurfObject handle) {
  Call call;
  if (call.session)
    call.session->textures.gone(handle);
  return callReal<Entry::cuSurfObjectDestroy>(handle);
}
