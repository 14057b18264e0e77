// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "programs.h"

#include "configuration.h" // written by CMake: R3_LIBDIR

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace r3 {
namespace {

std::vector<std::string> pathDirectories() {
  std::vector<std::string> Directories;
  std::string Path = environment("PATH");
  for (size_t Start = 0; Start <= Path.size();) {
    size_t End = std::min(Path.find(':', Start), Path.size());
    Directories.push_back(End == Start ? "." : Path.substr(Start, End - Start));
    Start = End + 1;
  }
  return Directories;
}

} // namespace

std::string environment(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? Value : "";
}

bool isSet(const char *Name) { return environment(Name) == "1"; }

bool isFile(const std::string &Path) {
  struct stat Status;
  return stat(Path.c_str(), &Status) == 0 && S_ISREG(Status.st_mode);
}

bool isProgram(const std::string &Path) { return isFile(Path) && access(Path.c_str(), X_OK) == 0; }

bool isSameFile(const std::string &Left, const std::string &Right) {
  struct stat L, R;
  return stat(Left.c_str(), &L) == 0 && stat(Right.c_str(), &R) == 0 && L.st_dev == R.st_dev &&
         L.st_ino == R.st_ino;
}

std::string directoryOf(const std::string &Path) {
  size_t Slash = Path.rfind('/');
  return Slash == std::string::npos ? "." : Path.substr(0, Slash);
}

std::string baseName(const std::string &Path) { return Path.substr(Path.rfind('/') + 1); }

std::string realPath(const std::string &Path) {
  char Resolved[PATH_MAX];
  return realpath(Path.c_str(), Resolved) ? Resolved : Path;
}

std::string ownPath() {
  char Path[PATH_MAX];
  ssize_t Size = readlink("/proc/self/exe", Path, sizeof Path);
  return Size > 0 ? std::string(Path, Size) : std::string();
}

std::string calledPath() {
  auto Path = reinterpret_cast<const char *>(getauxval(AT_EXECFN));
  return Path ? Path : "";
}

std::string prefix() {
  std::string Chosen = environment("R3_PREFIX");
  return Chosen.empty() ? directoryOf(directoryOf(ownPath())) : Chosen;
}

std::string libraryFile(std::string_view Name) { return prefix() + "/" R3_LIBDIR "/" + std::string(Name); }

/// A wrapper may be linked or copied to the name "clang" and into any directory: R3's directory is skipped as
/// a whole.
std::string findOnPath(const std::string &Name) {
  if (Name.find('/') != std::string::npos)
    return isProgram(Name) ? Name : "";
  for (const std::string &Directory : pathDirectories()) {
    std::string Candidate = Directory + '/' + Name;
    if (isProgram(Candidate) && !isSameFile(Directory, directoryOf(ownPath())) &&
        !isSameFile(Candidate, ownPath()))
      return Candidate;
  }
  return {};
}

} // namespace r3
