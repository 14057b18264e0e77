// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "rocm_tree.h"

#include "process.h"
#include "programs.h"
#include "text.h"
#include "text_file.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <glob.h>

namespace r3 {
namespace {

constexpr const char *RocmPath = "--rocm-path=";
constexpr const char *BitcodePath = "--rocm-device-lib-path=";

std::string firstMatch(const std::string &Pattern) {
  glob_t Found = {};
  std::string Path;
  if (glob(Pattern.c_str(), 0, nullptr, &Found) == 0 && Found.gl_pathc > 0)
    Path = Found.gl_pathv[0];
  globfree(&Found);
  return Path;
}

bool hasHip(const std::string &Root) { return isFile(Root + "/include/hip/hip_runtime.h"); }

int macroOf(const std::string &Header, const std::string &Name) {
  std::string Define = "#define " + Name + ' ';
  size_t Place = Header.find(Define);
  return Place == std::string::npos ? 0 : std::atoi(Header.c_str() + Place + Define.size());
}

void readVersion(RocmTree &Tree) {
  std::string Header = readFile(Tree.hip + "/include/hip/hip_version.h").value_or("");
  Tree.major = macroOf(Header, "HIP_VERSION_MAJOR");
  Tree.minor = macroOf(Header, "HIP_VERSION_MINOR");
  Tree.patch = macroOf(Header, "HIP_VERSION_PATCH");
}

/// Debian keeps the device libraries under the folder of the machine's own libraries, AMD under amdgcn.
std::string bitcodeUnder(const std::string &Root) {
  for (const char *Place : {"/amdgcn/bitcode", "/lib/amdgcn/bitcode", "/lib/*/amdgcn/bitcode",
                            "/lib/llvm/lib/clang/*/lib/amdgcn/bitcode"})
    if (std::string Library = firstMatch(Root + Place + "/ockl.bc"); !Library.empty())
      return directoryOf(Library);
  return {};
}

/// A folder and who named it.
struct Named {
  std::string by, path;
};

Named firstNamed(std::vector<Named> Candidates) {
  for (Named &Candidate : Candidates)
    if (!Candidate.path.empty())
      return Candidate;
  return {};
}

std::string usualRoot() {
  for (const char *Root : {"/opt/rocm", "/usr"})
    if (hasHip(Root))
      return Root;
  return {};
}

Problem missing(const Named &Place, const std::string &What) {
  return Problem{Place.by + " names " + Place.path + ", which has no " + What + "; set it to a ROCm tree"};
}

} // namespace

std::string RocmTree::libraries() const {
  for (const char *Place : {"/lib", "/lib/*"})
    if (std::string Library = firstMatch(hip + Place + "/libamdhip64.so"); !Library.empty())
      return directoryOf(Library);
  return {};
}

Result<RocmTree> findRocmTree(const RocmChoice &Choice) {
  Named Root = firstNamed({{"--rocm-path", Choice.root}, {"ROCM_PATH", environment("ROCM_PATH")}});
  Named Hip = firstNamed({{"HIP_PATH", environment("HIP_PATH")}, Root});
  Named Bitcode = firstNamed({{"--rocm-device-lib-path", Choice.bitcode},
                              {"HIP_DEVICE_LIB_PATH", environment("HIP_DEVICE_LIB_PATH")},
                              {"DEVICE_LIB_PATH", environment("DEVICE_LIB_PATH")}});
  if (!Hip.path.empty() && !hasHip(Hip.path))
    return missing(Hip, "include/hip/hip_runtime.h");
  if (!Bitcode.path.empty() && !isFile(Bitcode.path + "/ockl.bc"))
    return missing(Bitcode, "ockl.bc");
  RocmTree Tree;
  Tree.hip = Hip.path.empty() ? usualRoot() : Hip.path;
  if (Tree.hip.empty())
    return Problem{"HIP's headers were not found; install libamdhip64-dev, or set ROCM_PATH"};
  Tree.root = Root.path.empty() ? Tree.hip : Root.path;
  Tree.bitcode = Bitcode.path.empty() ? bitcodeUnder(Tree.root) : Bitcode.path;
  if (Tree.bitcode.empty())
    return Problem{"ROCm's device libraries were not found under " + Tree.root +
                   "; install rocm-device-libs, or set HIP_DEVICE_LIB_PATH"};
  readVersion(Tree);
  return Tree;
}

std::vector<std::string> rocmFlags(const RocmTree &Tree) {
  std::vector<std::string> Flags = {RocmPath + Tree.root, BitcodePath + Tree.bitcode};
  if (Tree.hip != "/usr")
    Flags.insert(Flags.end(), {"-isystem", Tree.hip + "/include"});
  if (!isFile(Tree.bitcode + "/oclc_abi_version_600.bc"))
    Flags.push_back("-mcode-object-version=5");
  if (std::string Header = libraryFile("include/r3/hip_compat.h"); isFile(Header))
    Flags.insert(Flags.end(), {"-include", Header});
  return Flags;
}

std::vector<std::string> withRocm(const std::vector<std::string> &User) {
  RocmChoice Choice;
  for (const std::string &Argument : User) {
    if (startsWith(Argument, RocmPath))
      Choice.root = Argument.substr(std::strlen(RocmPath));
    if (startsWith(Argument, BitcodePath))
      Choice.bitcode = Argument.substr(std::strlen(BitcodePath));
  }
  std::vector<std::string> Command;
  bool OnlyInputs = false;
  for (const std::string &Argument : User) {
    OnlyInputs |= Argument == "--";
    if (OnlyInputs || Argument != "--r3-rocm") {
      Command.push_back(Argument);
      continue;
    }
    Result<RocmTree> Tree = findRocmTree(Choice);
    if (!Tree)
      fail("--r3-rocm: " + Tree.problem());
    std::vector<std::string> Flags = rocmFlags(*Tree);
    // clang's old driver compiles the host first, which then has no device code to take along.
    if (std::find(User.begin(), User.end(), "-fgpu-rdc") != User.end())
      Flags.push_back("--offload-new-driver");
    Command.insert(Command.end(), Flags.begin(), Flags.end());
  }
  return Command;
}

} // namespace r3
