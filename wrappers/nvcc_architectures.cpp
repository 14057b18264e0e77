// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvcc_architectures.h"

#include "text.h"

#include <algorithm>
#include <cstring>
#include <unistd.h>

namespace r3 {
namespace {

constexpr const char *RealPrefix = "sm_";
constexpr const char *VirtualPrefix = "compute_";

/// The names in "sm_90,compute_90", "[sm_90,compute_90]" or either between quotes that a makefile escaped.
std::vector<std::string> codeNames(std::string Text) {
  Text.erase(
      std::remove_if(Text.begin(), Text.end(), [](char C) { return std::strchr("[]\"'\\ ", C) != nullptr; }),
      Text.end());
  return split(Text, ',');
}

std::string number(const std::string &Name) { return Name.substr(Name.find('_') + 1); }

bool isReal(const std::string &Name) { return startsWith(Name, RealPrefix); }
bool isVirtual(const std::string &Name) { return startsWith(Name, VirtualPrefix); }

/// What nvcc takes if a command names no GPU.
std::string defaultArchitecture(int ToolkitMajor) { return ToolkitMajor >= 13 ? "sm_75" : "sm_52"; }

/// What -arch=all and all-major stand for, in those generations that clang 22 and the toolkit both know.
std::vector<std::string> everyArchitecture(int ToolkitMajor, bool OnlyMajor) {
  if (ToolkitMajor >= 13)
    return OnlyMajor ? std::vector<std::string>{"75", "80", "90", "100", "110", "120"}
                     : std::vector<std::string>{"75", "80",  "86",  "87",  "88",  "89",
                                                "90", "100", "103", "110", "120", "121"};
  return OnlyMajor ? std::vector<std::string>{"50", "60", "70", "80", "90"}
                   : std::vector<std::string>{"50", "52", "53", "60", "61", "62", "70",
                                              "72", "75", "80", "86", "87", "89", "90"};
}

void addOnce(std::vector<std::string> &Names, const std::string &Name) {
  if (std::find(Names.begin(), Names.end(), Name) == Names.end())
    Names.push_back(Name);
}

/// GPUs that came with CUDA 13.0 and its PTX 9.0; clang 22 takes PTX 8.8 for every toolkit that is newer than
/// it.
bool needsNewerPtx(const std::string &Number) {
  std::string Digits = Number.substr(0, Number.find_first_not_of("0123456789"));
  return Digits == "88" || Digits == "110";
}

bool hasGpu() { return access("/dev/nvidiactl", F_OK) == 0; }

} // namespace

Result<bool> NvccArchitectures::addGenerateCode(const std::string &Specification) {
  std::string Text = Specification;
  size_t Arch = Text.find("arch="), Code = Text.find("code=");
  if (Arch == std::string::npos)
    return Problem{"-gencode " + Specification + " has no arch="};
  Request Added;
  std::vector<std::string> Names =
      codeNames(Text.substr(Arch + std::strlen("arch="), Code - Arch - std::strlen("arch=")));
  if (Names.size() != 1)
    return Problem{"-gencode " + Specification + " doesn't name one arch"};
  Added.virtualArchitecture = Names.front();
  Added.codes = Code == std::string::npos ? Names : codeNames(Text.substr(Code + std::strlen("code=")));
  Generated.push_back(std::move(Added));
  return true;
}

Result<std::vector<NvccArchitectures::Request>> NvccArchitectures::requests(int ToolkitMajor) const {
  std::vector<Request> All = Generated;
  std::string Named = Architecture;
  if (Named == "native" && !hasGpu())
    Named = defaultArchitecture(ToolkitMajor); // as nvcc does, with a warning
  if (Named.empty() && Codes.empty() && Generated.empty())
    Named = defaultArchitecture(ToolkitMajor);
  if (Named == "all" || Named == "all-major") {
    std::vector<std::string> Numbers = everyArchitecture(ToolkitMajor, Named == "all-major");
    for (const std::string &Number : Numbers)
      All.push_back({VirtualPrefix + Number, {RealPrefix + Number}});
    All.back().codes.push_back(VirtualPrefix + Numbers.back());
    return All;
  }
  if (Named == "native") {
    All.push_back({"", {"native"}});
    return All;
  }
  std::vector<std::string> Wanted;
  for (const std::string &Text : Codes)
    for (const std::string &Name : codeNames(Text))
      Wanted.push_back(Name);
  if (Named.empty() && !Wanted.empty())
    return Problem{"-code needs -arch"};
  if (Named.empty())
    return All;
  std::string Virtual = VirtualPrefix + number(Named);
  if (Wanted.empty())
    Wanted = isReal(Named) ? std::vector<std::string>{Named, Virtual} : std::vector<std::string>{Named};
  All.push_back({Virtual, Wanted});
  return All;
}

Result<NvccArchitectures::Images> NvccArchitectures::images(int ToolkitMajor) const {
  Result<std::vector<Request>> All = requests(ToolkitMajor);
  if (!All)
    return Problem{All.problem()};
  Images Made;
  if (Architecture == "native" && !hasGpu())
    Made.notes.push_back("-arch=native found no GPU; compiling for " + defaultArchitecture(ToolkitMajor));
  for (const Request &Wanted : *All)
    for (const std::string &Code : Wanted.codes) {
      if (!isReal(Code) && !isVirtual(Code) && Code != "native")
        return Problem{"no GPU is called '" + Code + "'; clang takes sm_NN and compute_NN"};
      std::string Machine = isVirtual(Code) ? RealPrefix + number(Code) : Code;
      addOnce(Made.machine, Machine);
      if (needsNewerPtx(number(Machine)))
        addOnce(Made.newerPtx, Machine);
      if (isVirtual(Code))
        addOnce(Made.ptx, RealPrefix + number(Code));
      if (isReal(Code) && number(Code) != number(Wanted.virtualArchitecture))
        Made.notes.push_back("clang compiles " + Code + " as itself, not as " + Wanted.virtualArchitecture);
    }
  return Made;
}

} // namespace r3
