// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_NVCC_H
#define R3_WRAPPERS_NVCC_H

#include <string>
#include <vector>

namespace r3 {

/// r3-nvcc: takes a command of nvcc and becomes the clang that does the same.
[[noreturn]] void runNvcc(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
