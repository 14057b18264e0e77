// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_compiler.h"

#include "process.h"
#include "programs.h"
#include "text.h"

namespace r3 {

std::optional<HostFlags> flagsOfMpiWrapper(const std::string &Compiler) {
  std::string Path = findOnPath(Compiler);
  if (Path.empty() || !startsWith(baseName(Compiler), "mpi"))
    return std::nullopt;
  std::vector<std::string> Words = splitWords(outputOf(Path, {"-show"}));
  if (Words.empty())
    return std::nullopt;
  HostFlags Flags;
  for (size_t Index = 1; Index < Words.size(); ++Index) {
    bool IsLink =
        startsWith(Words[Index], "-l") || startsWith(Words[Index], "-L") || startsWith(Words[Index], "-Wl,");
    (IsLink ? Flags.link : Flags.compile).push_back(Words[Index]);
  }
  return Flags;
}

} // namespace r3
