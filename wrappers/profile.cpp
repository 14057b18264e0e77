// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "profile.h"

#include "process.h"
#include "programs.h"
#include "ptxas.h"
#include "text.h"

#include <cstdlib>
#include <unistd.h>

namespace r3 {
namespace {

constexpr const char *Variable = "R3_USE";
constexpr const char *Option = "--r3-use=";

/// Final code is made at the device link then, where no plugin of ours acts.
bool linksDeviceBitcode(const std::vector<std::string> &Arguments) {
  bool Links = false;
  for (const std::string &Argument : Arguments)
    if (startsWith(Argument, "-foffload-lto"))
      Links = true;
    else if (Argument == "-fno-offload-lto")
      Links = false;
  return Links;
}

} // namespace

std::vector<std::string> withProfile(const std::vector<std::string> &User) {
  std::vector<std::string> Rest;
  bool OnlyInputs = false;
  for (const std::string &Argument : User) {
    OnlyInputs |= Argument == "--";
    if (!OnlyInputs && startsWith(Argument, Option))
      setenv(Variable, Argument.c_str() + std::string(Option).size(), 1);
    else if (!OnlyInputs && Argument == "--r3-use")
      fail("--r3-use needs its file: --r3-use=tuned.r3.json");
    else
      Rest.push_back(Argument);
  }
  return Rest;
}

std::vector<std::string> profileFlags(const std::vector<std::string> &Expanded) {
  std::string Profile = environment(Variable);
  if (Profile.empty())
    return {};
  if (linksDeviceBitcode(Expanded))
    fail("-foffload-lto makes the device code at link, where --r3-use does not act: leave one of them out");
  if (access(Profile.c_str(), R_OK) != 0)
    return {}; // the plugin says so; make would stop at a dependency that isn't there
  std::vector<std::string> Flags = ptxasFlags(Profile, Expanded);
  Flags.insert(Flags.end(), {"-Xclang", "-fdepfile-entry=" + Profile});
  return Flags;
}

} // namespace r3
