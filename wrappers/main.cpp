// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// r3-clang and r3-clang++: clang with R3's plugin where device code is compiled, and clang itself everywhere
// else.
//
// The wrapper becomes the compiler (exec): exit status, signals, streams and inherited descriptors are the
// compiler's own. Whatever is wrong with R3 costs one warning, and the command runs as the user typed it;
// R3_STRICT=1 makes it an error. The wrapper's own errors exit with WrapperError, which clang never returns.
#include "command_line.h"
#include "common/handoff.h"
#include "compiler.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace r3 {
namespace {

constexpr int WrapperError = 125;
constexpr const char *DepthVariable = "R3_WRAPPER_DEPTH";
constexpr int DeepestNesting = 8; // compiler caches and masquerade links nest two or three deep

bool isSet(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value && std::strcmp(Value, "1") == 0;
}

void say(const std::string &Sentence) { std::fprintf(stderr, "r3: %s\n", Sentence.c_str()); }

[[noreturn]] void fail(const std::string &Sentence) {
  say("error: " + Sentence);
  std::exit(WrapperError);
}

std::string currentDirectory() {
  char *Path = get_current_dir_name();
  std::string Directory = Path ? Path : "";
  std::free(Path);
  return Directory;
}

/// A compiler found through PATH or a cache may be this wrapper again, for ever.
void guardAgainstRecursion() {
  const char *Text = std::getenv(DepthVariable);
  int Depth = Text ? std::atoi(Text) : 0;
  if (Depth >= DeepestNesting)
    fail("the wrapper calls itself; set R3_CLANG to the path of clang 22");
  setenv(DepthVariable, std::to_string(Depth + 1).c_str(), 1);
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

/// What the wrapper adds to a device compilation: the flag that loads the plugin, unless an outer wrapper has
/// added it.
Result<std::vector<std::string>> prepareCapture(const std::string &Compiler, Driver Mode,
                                                std::vector<std::string> Expanded) {
  Result<std::string> Plugin = findPlugin(Compiler);
  if (!Plugin)
    return Problem{Plugin.problem()};
  std::string Flag = "-fpass-plugin=" + *Plugin;
  if (std::find(Expanded.begin(), Expanded.end(), Flag) != Expanded.end())
    return std::vector<std::string>();
  Expanded.insert(Expanded.begin(), Mode == Driver::CXX ? "clang++" : "clang");
  int Fd = openHandoff(std::move(Expanded));
  if (Fd < 0)
    return Problem{std::string("no anonymous file for the device code: ") + std::strerror(errno)};
  setenv(handoff::FdVariable, std::to_string(Fd).c_str(), 1);
  return std::vector<std::string>{Flag};
}

std::vector<std::string> addedFlags(const std::string &Compiler, Driver Mode,
                                    const std::vector<std::string> &User) {
  if (isSet("R3_DISABLE"))
    return {};
  std::vector<std::string> Expanded = expandResponseFiles(User);
  if (!compilesDeviceCode(Expanded))
    return {};
  Result<std::vector<std::string>> Flags = prepareCapture(Compiler, Mode, std::move(Expanded));
  if (Flags)
    return *Flags;
  if (isSet("R3_STRICT"))
    fail(Flags.problem());
  say("warning: " + Flags.problem() + " (compiling without R3)");
  return {};
}

[[noreturn]] void become(const std::string &Compiler, const std::vector<std::string> &Added,
                         char **UserArguments) {
  std::vector<char *> Arguments = {const_cast<char *>(Compiler.c_str())};
  for (const std::string &Flag : Added) // before the user's own: those may end in "-- FILE"
    Arguments.push_back(const_cast<char *>(Flag.c_str()));
  for (char **Argument = UserArguments; *Argument; ++Argument)
    Arguments.push_back(*Argument);
  Arguments.push_back(nullptr);
  execv(Compiler.c_str(), Arguments.data());
  fail("can't run " + Compiler + ": " + std::strerror(errno));
}

} // namespace
} // namespace r3

int main(int Count, char **Values) {
  if (Count < 1)
    return r3::WrapperError;
  r3::guardAgainstRecursion();
  r3::Driver Mode = r3::driverFor(Values[0]);
  r3::Result<std::string> Compiler = r3::findCompiler(Mode);
  if (!Compiler)
    r3::fail(Compiler.problem());
  std::vector<std::string> User(Values + 1, Values + Count);
  r3::become(*Compiler, r3::addedFlags(*Compiler, Mode, User), Values + 1);
}
