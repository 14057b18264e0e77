// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every entry of the CUDA and HIP runtimes that the cpu device does not have, so that a program that calls
// one is told its name instead of dying at start. The definitions are weak: a real one elsewhere in the
// library takes precedence.
#include "cudart/runtime.h"

using namespace r3::cpu::cudart;

static int refuse(const char *name) {
  r3::message("the cpu device has no %s", name);
  return remember(NotSupported);
}

#define R3CPU_ENTRY(NAME)                                                                                    \
  R3CPU_EXPORT __attribute__((weak)) int NAME() { return refuse(#NAME); }
#include "cudart/entries.def"
#include "hip/entries.def"
#undef R3CPU_ENTRY
