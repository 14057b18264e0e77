// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's entries that mean what CUDA's entry of this library means, argument for argument.
#ifndef R3CPU_HIP_FORWARD_H
#define R3CPU_HIP_FORWARD_H

#include "abi.h"

/// Defines NAME as a call of CUDA_NAME. PARAMETERS and ARGUMENTS stand in parentheses.
#define R3CPU_FORWARD(NAME, CUDA_NAME, PARAMETERS, ARGUMENTS)                                                \
  extern "C" int CUDA_NAME PARAMETERS;                                                                       \
  R3CPU_EXPORT int NAME PARAMETERS { return CUDA_NAME ARGUMENTS; }

#endif
