// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "host_compiler.h"

#include "programs.h"
#include "text.h"

#include <array>
#include <cstdio>
#include <memory>

namespace r3 {
namespace {

std::string shellQuoted(const std::string &Text) {
  std::string Quoted = "'";
  for (char C : Text)
    Quoted += C == '\'' ? std::string("'\\''") : std::string(1, C);
  return Quoted + "'";
}

std::string outputOf(const std::string &Program, const std::string &Argument) {
  std::string Line = shellQuoted(Program) + ' ' + Argument + " 2>/dev/null";
  std::unique_ptr<FILE, int (*)(FILE *)> Pipe(popen(Line.c_str(), "r"), pclose);
  std::string Output;
  std::array<char, 4096> Part;
  while (size_t Size = Pipe ? fread(Part.data(), 1, Part.size(), Pipe.get()) : 0)
    Output.append(Part.data(), Size);
  return Output;
}

} // namespace

std::optional<HostFlags> flagsOfMpiWrapper(const std::string &Compiler) {
  std::string Path = findOnPath(Compiler);
  if (Path.empty() || !startsWith(baseName(Compiler), "mpi"))
    return std::nullopt;
  std::vector<std::string> Words = splitWords(outputOf(Path, "-show"));
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
