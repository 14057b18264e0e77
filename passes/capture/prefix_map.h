// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// -ffile-prefix-map: who asks for reproducible builds gets them from R3's JSON, too.
#ifndef R3_CAPTURE_PREFIX_MAP_H
#define R3_CAPTURE_PREFIX_MAP_H

#include <string>
#include <utility>
#include <vector>

namespace r3 {

class PrefixMap {
public:
  /// Reads the -ffile-prefix-map=OLD=NEW of a command; of two that fit, the later one counts, as in clang.
  explicit PrefixMap(const std::vector<std::string> &Arguments);

  std::string path(const std::string &Path) const;

  /// An argument with the path that it is, or that follows a joined option ("-I…") or a "=".
  std::string argument(const std::string &Argument) const;

private:
  std::vector<std::pair<std::string, std::string>> Prefixes;
};

} // namespace r3

#endif
