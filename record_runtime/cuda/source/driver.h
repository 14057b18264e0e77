// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cuda.h>

namespace r3::cuda {

/// The driver's own functions that the recorder calls for itself. What an older driver lacks is null.
struct Driver {
#define R3_DRIVER_FUNCTIONS(F)                                                                               \
  F(cuCtxGetCurrent)                                                                                         \
  F(cuCtxSetCurrent)                                                                                         \
  F(cuCtxGetDevice)                                                                                          \
  F(cuCtxSynchronize)                                                                                        \
  F(cuDeviceGetName)                                                                                         \
  F(cuDevicePrimaryCtxGetState)                                                                              \
  F(cuDevicePrimaryCtxRetain)                                                                                \
  F(cuDevicePrimaryCtxRelease_v2)                                                                            \
  F(cuDeviceGetAttribute)                                                                                    \
  F(cuDriverGetVersion)                                                                                      \
  F(cuMemAddressReserve)                                                                                     \
  F(cuMemAddressFree)                                                                                        \
  F(cuMemCreate)                                                                                             \
  F(cuMemRelease)                                                                                            \
  F(cuMemMap)                                                                                                \
  F(cuMemUnmap)                                                                                              \
  F(cuMemSetAccess)                                                                                          \
  F(cuMemGetAllocationGranularity)                                                                           \
  F(cuMemGetAddressRange_v2)                                                                                 \
  F(cuMemHostAlloc)                                                                                          \
  F(cuMemHostRegister_v2)                                                                                    \
  F(cuMemHostUnregister)                                                                                     \
  F(cuMemHostGetDevicePointer_v2)                                                                            \
  F(cuMemcpyDtoH_v2)                                                                                         \
  F(cuMemcpyHtoD_v2)                                                                                         \
  F(cuMemsetD8_v2)                                                                                           \
  F(cuPointerGetAttribute)                                                                                   \
  F(cuMemAlloc_v2)                                                                                           \
  F(cuMemFree_v2)                                                                                            \
  F(cuEventCreate)                                                                                           \
  F(cuEventRecord)                                                                                           \
  F(cuEventQuery)                                                                                            \
  F(cuEventElapsedTime)                                                                                      \
  F(cuEventDestroy_v2)                                                                                       \
  F(cuStreamIsCapturing)                                                                                     \
  F(cuStreamWaitValue32_v2)                                                                                  \
  F(cuThreadExchangeStreamCaptureMode)                                                                       \
  F(cuFuncLoad)                                                                                              \
  F(cuFuncGetName)                                                                                           \
  F(cuFuncGetModule)                                                                                         \
  F(cuFuncGetAttribute)                                                                                      \
  F(cuFuncGetParamInfo)                                                                                      \
  F(cuKernelGetFunction)                                                                                     \
  F(cuKernelGetName)                                                                                         \
  F(cuKernelGetLibrary)                                                                                      \
  F(cuKernelGetAttribute)                                                                                    \
  F(cuKernelGetParamInfo)                                                                                    \
  F(cuLibraryGetGlobal)                                                                                      \
  F(cuLibraryGetModule)                                                                                      \
  F(cuModuleGetGlobal_v2)                                                                                    \
  F(cuModuleLoadData)                                                                                        \
  F(cuModuleGetFunction)                                                                                     \
  F(cuLaunchKernel)
#define R3_DECLARE(name) decltype(::name) *name = nullptr;
  R3_DRIVER_FUNCTIONS(R3_DECLARE)
#undef R3_DECLARE
};

/// Resolved once, when the application first uses the driver.
const Driver &driver();

} // namespace r3::cuda
