// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_HIPCC_H
#define R3_WRAPPERS_HIPCC_H

#include <string>
#include <vector>

namespace r3 {

/// Acts as hipcc.
[[noreturn]] void runHipcc(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
