// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_ELF_FILE_H
#define R3_WRAPPERS_ELF_FILE_H

#include <optional>
#include <string>
#include <vector>

namespace r3 {

/// The shared libraries that a 64-bit ELF program or library asks the loader for; nothing if it isn't one.
std::optional<std::vector<std::string>> neededLibraries(const std::string &Path);

} // namespace r3

#endif
