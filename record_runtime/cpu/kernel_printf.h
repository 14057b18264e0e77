// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3CPU_KERNEL_PRINTF_H
#define R3CPU_KERNEL_PRINTF_H

#include <cstdint>

namespace r3::cpu {

/// CUDA's vprintf: `arguments` holds the values packed at their natural alignment, floats as doubles. Writes
/// to standard output in one piece. Returns the number of arguments, -1 for a null format.
int32_t printFromKernel(const char *format, const void *arguments);

} // namespace r3::cpu

#endif
