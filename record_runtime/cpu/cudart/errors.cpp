// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "runtime.h"

namespace r3::cpu::cudart {

static thread_local Error last_error = Success;
// A failed kernel leaves the device unusable, as on a GPU: every later call says so.
static std::atomic<Error> sticky{Success};

Error remember(Error error) {
  if (Error failed = sticky.load(std::memory_order_relaxed); failed != Success)
    error = failed;
  if (error != Success)
    last_error = error;
  return error;
}

Error lastError() { return last_error; }

void clearError() { last_error = sticky; }

static Error errorOf(r3cpu_status status) {
  switch (status) {
  case R3CPU_BAD_MODULE:
    return InvalidKernelImage;
  case R3CPU_NOT_FOUND:
    return InvalidDeviceFunction;
  case R3CPU_BAD_LAUNCH:
    return InvalidConfiguration;
  case R3CPU_OUT_OF_MEMORY:
    return MemoryAllocation;
  case R3CPU_ASSERT:
    return Assert;
  default:
    return LaunchFailure;
  }
}

Error report(const EngineError &error) {
  message("%s", error.what());
  Error code = errorOf(error.status);
  if (code == LaunchFailure || code == Assert)
    sticky = code;
  return code;
}

struct ErrorText {
  Error error;
  const char *name;
  const char *text;
};

static const ErrorText kTexts[] = {
    {Success, "cudaSuccess", "no error"},
    {InvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {MemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {InitializationError, "cudaErrorInitializationError", "initialization error"},
    {InvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {InvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {InvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {InvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {NoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {InvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {InvalidKernelImage, "cudaErrorInvalidKernelImage", "device kernel image is invalid"},
    {InvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {NotReady, "cudaErrorNotReady", "device not ready"},
    {IllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {PeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {Assert, "cudaErrorAssert", "device-side assert triggered"},
    {LaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {NotSupported, "cudaErrorNotSupported", "operation not supported"},
    {Unknown, "cudaErrorUnknown", "unknown error"}};

static const ErrorText &textOf(int error) {
  for (const ErrorText &text : kTexts)
    if (text.error == error)
      return text;
  static const ErrorText unrecognized = {Unknown, "unrecognized error code", "unrecognized error code"};
  return unrecognized;
}

} // namespace r3::cpu::cudart

using namespace r3::cpu::cudart;

R3CPU_EXPORT const char *cudaGetErrorName(int error) { return textOf(error).name; }
R3CPU_EXPORT const char *cudaGetErrorString(int error) { return textOf(error).text; }

R3CPU_EXPORT int cudaGetLastError() {
  Error error = lastError();
  clearError();
  return error;
}

R3CPU_EXPORT int cudaPeekAtLastError() { return lastError(); }
