// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "explain.h"

#include "capture.h"
#include "command_line.h"
#include "process.h"
#include "programs.h"
#include "text.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace r3 {
namespace {

constexpr const char *Option = "--r3-explain";

void print(const char *What, const std::string &Value) { std::printf("%s: %s\n", What, Value.c_str()); }

std::string orNone(const std::string &Text) { return Text.empty() ? "none" : Text; }

} // namespace

std::vector<std::string> withoutExplain(const std::vector<std::string> &User) {
  auto IsOption = [](const std::string &Argument) { return Argument == Option; };
  auto End = std::find(User.begin(), User.end(), "--"); // behind it all are inputs
  if (std::none_of(User.begin(), End, IsOption))
    return {};
  std::vector<std::string> Rest;
  std::copy_if(User.begin(), End, std::back_inserter(Rest),
               [&](const std::string &A) { return !IsOption(A); });
  Rest.insert(Rest.end(), End, User.end());
  return Rest;
}

void explain(const std::string &Compiler, Driver Mode, const std::vector<std::string> &User) {
  Result<std::string> Plugin = findPlugin(Compiler);
  print("compiler", Compiler);
  print("plugin", Plugin ? *Plugin : Plugin.problem());
  print("profile", orNone(environment("R3_USE")));
  print("makes an object with device code", compilesDeviceCode(expandResponseFiles(User)) ? "yes" : "no");
  print("switched off", isSet("R3_DISABLE") ? "yes (R3_DISABLE)" : "no");
  print("added", orNone(join(captureFlags(Compiler, Mode, User), " ")));
  std::exit(0);
}

} // namespace r3
