// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler.h"

#include "configuration.h" // written by CMake: R3_CONFIGURED_CLANG
#include "elf_file.h"
#include "programs.h"

#include <algorithm>
#include <vector>

namespace r3 {
namespace {

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

} // namespace

Driver driverFor(const std::string &ProgramName) {
  std::string Name = baseName(ProgramName);
  Name.erase(Name.find_last_not_of("0123456789.-") + 1);
  return Name.size() > 2 && Name.compare(Name.size() - 2, 2, "++") == 0 ? Driver::CXX : Driver::C;
}

Result<std::string> findCompiler(Driver Wanted) {
  std::string Chosen = environment("R3_CLANG");
  if (!Chosen.empty()) {
    std::string Compiler = findOnPath(Chosen);
    if (Compiler.empty())
      return Problem{"R3_CLANG names '" + Chosen + "', which is no program; set it to the path of clang 22"};
    if (isSameFile(Compiler, ownPath()))
      return Problem{"R3_CLANG names this wrapper; set it to the path of clang 22"};
    return forDriver(Compiler, Wanted);
  }
  if (std::string Folder = environment("R3_LLVM"); !Folder.empty()) {
    std::string Compiler = Folder + "/bin/clang";
    if (!isProgram(Compiler))
      return Problem{"R3_LLVM names " + Folder +
                     ", which has no bin/clang; set it to the folder of an LLVM 22"};
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
  std::string Plugin = libraryFile("libR3Passes.so");
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
