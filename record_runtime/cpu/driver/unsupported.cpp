// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every other entry of the CUDA driver: a program that calls one is told its name. The definitions are weak:
// a real one takes precedence.
#include "cudart/abi.h"

#include <cstdio>

static int refuse(const char *name) {
  std::fprintf(
      stderr,
      "r3: the cpu device has no %s: of the driver it takes what asks about device, context and memory\n",
      name);
  return r3::cpu::cudart::NotSupported;
}

#define R3CPU_ENTRY(NAME)                                                                                    \
  R3CPU_EXPORT __attribute__((weak)) int NAME() { return refuse(#NAME); }
#include "driver/entries.def"
#undef R3CPU_ENTRY
