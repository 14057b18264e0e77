// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "process.h"

#include "programs.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace r3 {
namespace {

constexpr const char *DepthVariable = "R3_WRAPPER_DEPTH";
constexpr int DeepestNesting = 8; // compiler caches and masquerade links nest two or three deep

std::string quoted(const std::string &Word) {
  std::string Text = "\"";
  for (char C : Word) {
    if (C == '"' || C == '\\')
      Text += '\\';
    Text += C;
  }
  return Text + "\"";
}

/// Every command in R3_LOG, one line each, by one write, so that the lines of a parallel build don't mix.
void logCommand(const std::string &Program, const std::vector<std::string> &Arguments) {
  std::string Path = environment("R3_LOG");
  if (Path.empty())
    return;
  std::string Line = quoted(Program);
  for (const std::string &Argument : Arguments)
    Line += ' ' + quoted(Argument);
  Line += '\n';
  int Fd = open(Path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (Fd < 0 || write(Fd, Line.data(), Line.size()) != static_cast<ssize_t>(Line.size()))
    say("warning: R3_LOG names " + Path + ", which can't be written");
  if (Fd >= 0)
    close(Fd);
}

bool isTooLong(const std::vector<std::string> &Arguments) {
  size_t Size = 0;
  for (const std::string &Argument : Arguments)
    Size += Argument.size() + 1 + sizeof(char *);
  for (char **Variable = environ; *Variable; ++Variable)
    Size += std::strlen(*Variable) + 1 + sizeof(char *);
  constexpr size_t Margin = 4096; // the system's own share
  return Size + Margin > static_cast<size_t>(sysconf(_SC_ARG_MAX));
}

/// "@/proc/self/fd/N" for an anonymous file with the arguments, or empty if there can't be one.
std::string responseFile(const std::vector<std::string> &Arguments) {
  std::string Text;
  for (const std::string &Argument : Arguments)
    Text += quoted(Argument) + '\n';
  int Fd = memfd_create("r3-arguments", 0);
  if (Fd < 0 || write(Fd, Text.data(), Text.size()) != static_cast<ssize_t>(Text.size()))
    return "";
  return "@/proc/self/fd/" + std::to_string(Fd);
}

std::string shellQuoted(const std::string &Text) {
  std::string Quoted = "'";
  for (char C : Text)
    Quoted += C == '\'' ? std::string("'\\''") : std::string(1, C);
  return Quoted + "'";
}

std::vector<char *> pointers(const std::string &Program, const std::vector<std::string> &Arguments) {
  std::vector<char *> Pointers = {const_cast<char *>(Program.c_str())};
  for (const std::string &Argument : Arguments)
    Pointers.push_back(const_cast<char *>(Argument.c_str()));
  Pointers.push_back(nullptr);
  return Pointers;
}

} // namespace

void say(const std::string &Sentence) { std::fprintf(stderr, "r3: %s\n", Sentence.c_str()); }

void fail(const std::string &Sentence) {
  say("error: " + Sentence);
  std::exit(WrapperError);
}

void guardAgainstRecursion() {
  int Depth = std::atoi(environment(DepthVariable).c_str());
  if (Depth >= DeepestNesting)
    fail("the wrapper calls itself; set R3_CLANG to the path of clang 22");
  setenv(DepthVariable, std::to_string(Depth + 1).c_str(), 1);
}

void become(const std::string &Program, const std::vector<std::string> &Arguments) {
  logCommand(Program, Arguments);
  if (isTooLong(Arguments))
    if (std::string File = responseFile(Arguments); !File.empty())
      execv(Program.c_str(), pointers(Program, {File}).data());
  execv(Program.c_str(), pointers(Program, Arguments).data());
  fail("can't run " + Program + ": " + std::strerror(errno));
}

int runAndWait(const std::string &Program, const std::vector<std::string> &Arguments) {
  logCommand(Program, Arguments);
  pid_t Child;
  int Status;
  int Error =
      posix_spawn(&Child, Program.c_str(), nullptr, nullptr, pointers(Program, Arguments).data(), environ);
  if (Error != 0 || waitpid(Child, &Status, 0) != Child) {
    say("error: can't run " + Program + ": " + std::strerror(Error ? Error : errno));
    return WrapperError;
  }
  return WIFSIGNALED(Status) ? 128 + WTERMSIG(Status) : WEXITSTATUS(Status);
}

std::string outputOf(const std::string &Program, const std::vector<std::string> &Arguments) {
  std::string Line = shellQuoted(Program);
  for (const std::string &Argument : Arguments)
    Line += ' ' + shellQuoted(Argument);
  FILE *Pipe = popen((Line + " 2>/dev/null").c_str(), "r");
  if (!Pipe)
    return {};
  std::string Output;
  std::array<char, 4096> Part;
  while (size_t Size = fread(Part.data(), 1, Part.size(), Pipe))
    Output.append(Part.data(), Size);
  return pclose(Pipe) == 0 ? Output : std::string();
}

} // namespace r3
