// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_HOST_COMPILER_H
#define R3_WRAPPERS_HOST_COMPILER_H

#include <optional>
#include <string>
#include <vector>

namespace r3 {

struct HostFlags {
  std::vector<std::string> compile, link;
};

/// What an MPI compiler wrapper (mpicxx, mpic++, …) adds for its library, by its own -show; nothing for any
/// other program.
std::optional<HostFlags> flagsOfMpiWrapper(const std::string &Compiler);

} // namespace r3

#endif
