// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture.h"

#include "archives.h"
#include "command_line.h"
#include "common/handoff.h"
#include "process.h"
#include "profile.h"
#include "programs.h"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace r3 {
namespace {

std::string currentDirectory() {
  char *Path = get_current_dir_name();
  std::string Directory = Path ? Path : "";
  std::free(Path);
  return Directory;
}

/// A descriptor on a new hand-off that holds the user's command, or -1.
int openHandoff(std::vector<std::string> ExpandedCommand) {
  int Fd = memfd_create(handoff::FileName, 0); // inherited by the compiler and its processes
  if (Fd < 0)
    return -1;
  ExpandedCommand.insert(ExpandedCommand.begin(), currentDirectory());
  if (fcntl(Fd, F_SETFL, O_APPEND) != 0 ||
      !handoff::append(Fd, {handoff::RecordKind::Command, std::move(ExpandedCommand)})) {
    close(Fd);
    return -1;
  }
  return Fd;
}

/// The flag that loads the plugin and those that a profile needs, unless an outer wrapper has added it.
Result<std::vector<std::string>> prepareCapture(const std::string &Compiler, Driver Mode,
                                                std::vector<std::string> Expanded) {
  Result<std::string> Plugin = findPlugin(Compiler);
  if (!Plugin)
    return Problem{Plugin.problem()};
  std::string Flag = "-fpass-plugin=" + *Plugin;
  if (std::find(Expanded.begin(), Expanded.end(), Flag) != Expanded.end())
    return std::vector<std::string>();
  std::vector<std::string> Flags = profileFlags(Expanded);
  Flags.insert(Flags.begin(), Flag);
  Expanded.insert(Expanded.begin(), Mode == Driver::CXX ? "clang++" : "clang");
  int Fd = openHandoff(std::move(Expanded));
  if (Fd < 0)
    return Problem{std::string("no anonymous file for the device code: ") + std::strerror(errno)};
  setenv(handoff::FdVariable, std::to_string(Fd).c_str(), 1);
  return Flags;
}

} // namespace

std::vector<std::string> captureFlags(const std::string &Compiler, Driver Mode,
                                      const std::vector<std::string> &User) {
  if (isSet("R3_DISABLE"))
    return {};
  std::vector<std::string> Expanded = expandResponseFiles(User);
  std::vector<std::string> Units = deviceUnitFlags(Expanded);
  if (!compilesDeviceCode(Expanded))
    return Units;
  Result<std::vector<std::string>> Flags = prepareCapture(Compiler, Mode, std::move(Expanded));
  if (Flags) {
    Units.insert(Units.begin(), Flags->begin(), Flags->end());
    return Units;
  }
  if (isSet("R3_STRICT"))
    fail(Flags.problem());
  say("warning: " + Flags.problem() + " (compiling without R3)");
  return {};
}

} // namespace r3
