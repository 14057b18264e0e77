// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "driver.h"
#include "dynamic_symbols.h"

using namespace r3::cuda;

// cuda.h's macros would turn #name into the versioned symbol only after expansion; hence two steps.
#define R3_NAME(name) #name
#define R3_RESOLVE(name)                                                                                     \
  functions->name = reinterpret_cast<decltype(functions->name)>(driverSymbol(R3_NAME(name)));

const Driver &r3::cuda::driver() {
  // Never destroyed: applications call the driver from destructors of their own.
  static const Driver *resolved = [] {
    auto *functions = new Driver;
    R3_DRIVER_FUNCTIONS(R3_RESOLVE)
    if (!functions->cuEventElapsedTime) // before CUDA 12.8 there is no _v2; the arguments are the same
      functions->cuEventElapsedTime =
          reinterpret_cast<decltype(functions->cuEventElapsedTime)>(driverSymbol("cuEventElapsedTime"));
    return functions;
  }();
  return *resolved;
}
