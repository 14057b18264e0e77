// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_WRAPPERS_TEXT_FILE_H
#define R3_WRAPPERS_TEXT_FILE_H

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <sys/stat.h>

namespace r3 {

/// The bytes of a readable file.
inline std::optional<std::string> readFile(const std::string &Path) {
  std::ifstream Stream(Path, std::ios::binary);
  struct stat Status;
  bool IsFolder =
      stat(Path.c_str(), &Status) == 0 && S_ISDIR(Status.st_mode); // it opens, and throws when read
  if (!Stream || IsFolder)
    return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(Stream), {});
}

} // namespace r3

#endif
