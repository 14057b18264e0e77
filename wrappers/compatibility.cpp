// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compatibility.h"

#include "programs.h"

namespace r3 {

std::vector<std::string> compatibilityFlags() {
  std::string Header = libraryFile("include/r3/nvcc_compat.h");
  if (!isFile(Header))
    return {};
  return {"-isystem", libraryFile("include/r3/nvcc"), "-include", Header};
}

std::vector<std::string> withCompatibility(const std::vector<std::string> &User) {
  std::vector<std::string> Command;
  bool OnlyInputs = false;
  for (const std::string &Argument : User) {
    OnlyInputs |= Argument == "--";
    if (!OnlyInputs && Argument == "--r3-compat") {
      std::vector<std::string> Flags = compatibilityFlags();
      Command.insert(Command.end(), Flags.begin(), Flags.end());
    } else if (OnlyInputs || Argument != "--r3-no-compat")
      Command.push_back(Argument);
  }
  return Command;
}

} // namespace r3
