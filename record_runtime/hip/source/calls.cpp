// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "calls.h"

#include <dlfcn.h>

namespace r3::hip {

thread_local int Inside::depth = 0;

void *nextEntry(const char *name) { return dlsym(RTLD_NEXT, name); }

const Calls &calls() {
  static const Calls found = [] {
    Calls all{};
#define R3_FIND(NAME) all.NAME = reinterpret_cast<decltype(all.NAME)>(nextEntry(#NAME))
    R3_FIND(hipMemcpy);
    R3_FIND(hipDeviceSynchronize);
    R3_FIND(hipStreamSynchronize);
    R3_FIND(hipStreamIsCapturing);
    R3_FIND(hipGetDevice);
    R3_FIND(hipRuntimeGetVersion);
    R3_FIND(hipGetSymbolAddress);
    R3_FIND(hipEventCreate);
    R3_FIND(hipEventDestroy);
    R3_FIND(hipEventRecord);
    R3_FIND(hipEventQuery);
    R3_FIND(hipEventElapsedTime);
    R3_FIND(hipMemAddressReserve);
    R3_FIND(hipMemAddressFree);
    R3_FIND(hipMemGetAllocationGranularity);
    R3_FIND(hipMemCreate);
    R3_FIND(hipMemRelease);
    R3_FIND(hipMemMap);
    R3_FIND(hipMemUnmap);
    R3_FIND(hipMemSetAccess);
#undef R3_FIND
    return all;
  }();
  return found;
}

} // namespace r3::hip
