// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler.h"

#include "configuration.h" // written by CMake: R3_CONFIGURED_CLANG, R3_LIBDIR
#include "elf_file.h"

#include <algorithm>
#include <climits>
#include <cstdlib>
#include <string_view>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace r3 {
namespace {

std::string environment(const char *Name) {
  const char *Value = std::getenv(Name);
  return Value ? Value : "";
}

bool isProgram(const std::string &Path) {
  struct stat Status;
  return stat(Path.c_str(), &Status) == 0 && S_ISREG(Status.st_mode) && access(Path.c_str(), X_OK) == 0;
}

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

/// A wrapper may be linked or copied to the name "clang" and into any directory: R3's directory is skipped as
/// a whole.
std::string findOnPath(const std::string &Name) {
  for (const std::string &Directory : pathDirectories()) {
    std::string Candidate = Directory + '/' + Name;
    if (isProgram(Candidate) && !isSameFile(Directory, directoryOf(ownPath())) &&
        !isSameFile(Candidate, ownPath()))
      return Candidate;
  }
  return {};
}

/// The C++ driver beside a C driver: clang++, clang++-22.
std::string cxxSibling(const std::string &Compiler) {
  std::string Name = baseName(Compiler);
  size_t Clang = Name.rfind("clang");
  if (Clang == std::string::npos || Name.compare(Clang + 5, 2, "++") == 0)
    return Compiler;
  // LLVM's own folder has clang-22, and clang++ without a number.
  for (const std::string &Sibling : {Name.insert(Clang + 5, "++"), Name.substr(0, Clang) + "clang++"})
    if (std::string Path = directoryOf(Compiler) + '/' + Sibling; isProgram(Path))
      return Path;
  return Compiler;
}

std::string forDriver(const std::string &Compiler, Driver Wanted) {
  return Wanted == Driver::CXX ? cxxSibling(Compiler) : Compiler;
}

std::string llvmLibrary(const std::vector<std::string> &Libraries) {
  auto IsLlvm = [](const std::string &Name) { return Name.compare(0, 7, "libLLVM") == 0; };
  auto Found = std::find_if(Libraries.begin(), Libraries.end(), IsLlvm);
  return Found == Libraries.end() ? "" : *Found;
}

std::string prefix() {
  std::string Chosen = environment("R3_PREFIX");
  return Chosen.empty() ? directoryOf(directoryOf(ownPath())) : Chosen;
}

} // namespace

Driver driverFor(const std::string &ProgramName) {
  std::string Name = baseName(ProgramName);
  Name.erase(Name.find_last_not_of("0123456789.-") + 1);
  return Name.size() > 2 && Name.compare(Name.size() - 2, 2, "++") == 0 ? Driver::CXX : Driver::C;
}

std::string ownPath() {
  char Path[PATH_MAX];
  ssize_t Size = readlink("/proc/self/exe", Path, sizeof Path);
  return Size > 0 ? std::string(Path, Size) : std::string();
}

Result<std::string> findCompiler(Driver Wanted) {
  std::string Chosen = environment("R3_CLANG");
  if (!Chosen.empty()) {
    std::string Compiler = Chosen.find('/') == std::string::npos ? findOnPath(Chosen) : Chosen;
    if (!isProgram(Compiler))
      return Problem{"R3_CLANG names '" + Chosen + "', which is no program; set it to the path of clang 22"};
    if (isSameFile(Compiler, ownPath()))
      return Problem{"R3_CLANG names this wrapper; set it to the path of clang 22"};
    return forDriver(Compiler, Wanted);
  }
  if (std::string Configured = R3_CONFIGURED_CLANG;
      isProgram(Configured) && !isSameFile(Configured, ownPath()))
    return forDriver(Configured, Wanted);
  for (const char *Name : {"clang-22", "clang"})
    if (std::string Compiler = findOnPath(Name); !Compiler.empty())
      return forDriver(Compiler, Wanted);
  return Problem{"clang 22 was not found; install it, or set R3_CLANG to its path"};
}

Result<std::string> findPlugin(const std::string &Compiler) {
  std::string Plugin = prefix() + "/" R3_LIBDIR "/libR3Passes.so";
  auto PluginNeeds = neededLibraries(Plugin);
  if (!PluginNeeds)
    return Problem{"the plugin " + Plugin + " is missing or damaged; install R3 again, or set R3_PREFIX"};
  // Two copies of LLVM in one process crash, and an LLVM of another version can't load the plugin.
  std::string Wanted = llvmLibrary(*PluginNeeds);
  auto CompilerNeeds = neededLibraries(Compiler);
  if (!CompilerNeeds || llvmLibrary(*CompilerNeeds) != Wanted)
    return Problem{"the compiler " + Compiler + " doesn't use " + Wanted +
                   ", which the plugin was built for; set R3_CLANG to a clang that does"};
  return Plugin;
}

} // namespace r3
