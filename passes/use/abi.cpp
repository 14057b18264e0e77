// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of the flat C ABI that tuned programs on the cpu device need.
#include "use/host_parts.h"

using namespace llvm;
using namespace r3;

#define R3_EXPORT extern "C" __attribute__((visibility("default")))

template <typename Act>
static r3_result *aboutKernel(const uint8_t *Bitcode, size_t Size, const char *RequestText, Act Do) {
  Expected<KernelRequest> Request = parseKernelRequest(RequestText ? StringRef(RequestText) : StringRef());
  if (!Request)
    return toResult(Request.takeError());
  return toResult(Do(ArrayRef(Bitcode, Size), *Request));
}

R3_EXPORT r3_result *r3_host_without(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return aboutKernel(Bitcode, Size, Request, hostWithout);
}

R3_EXPORT r3_result *r3_host_alone(const uint8_t *Bitcode, size_t Size, const char *Request) {
  return aboutKernel(Bitcode, Size, Request, hostAlone);
}
