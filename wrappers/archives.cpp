// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "archives.h"

#include "common/device_unit.h"
#include "text.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <set>

namespace r3 {
namespace {

constexpr size_t MagicSize = 8, HeaderSize = 60, NameSize = 16, SizeField = 48, SizeDigits = 10;
constexpr size_t LargestIndex = size_t(256) << 20;

/// The names in an archive's index of symbols, one after another, each with its 0; empty for any other file.
std::string symbolNames(const std::string &Path) {
  std::ifstream File(Path, std::ios::binary);
  std::string Magic(MagicSize, '\0'), Header(HeaderSize, '\0');
  if (!File.read(&Magic[0], MagicSize) || (Magic != "!<arch>\n" && Magic != "!<thin>\n") ||
      !File.read(&Header[0], HeaderSize))
    return "";
  std::string Name = Header.substr(0, Header.find(' '));
  size_t Width = Name == "/" ? 4 : Name == "/SYM64/" ? 8 : 0;
  size_t Size = std::strtoul(Header.substr(SizeField, SizeDigits).c_str(), nullptr, 10);
  if (!Width || Size < Width || Size > LargestIndex)
    return "";
  std::string Index(Size, '\0');
  if (!File.read(&Index[0], std::streamsize(Size)))
    return "";
  uint64_t Count = 0;
  for (size_t Byte = 0; Byte < Width; ++Byte)
    Count = Count << 8 | static_cast<unsigned char>(Index[Byte]);
  if (Count > (Size - Width) / Width)
    return "";
  return Index.substr(Width * (Count + 1));
}

void addDeviceUnits(const std::string &Archive, std::set<std::string> &Units) {
  std::string Names = symbolNames(Archive);
  for (size_t At = 0; At < Names.size();) {
    size_t End = std::min(Names.find('\0', At), Names.size());
    std::string Name = Names.substr(At, End - At);
    if (startsWith(Name, DeviceUnitPrefix))
      Units.insert(std::move(Name));
    At = End + 1;
  }
}

/// The value of an option that may be joined to its name or follow it.
std::string valueOf(const std::vector<std::string> &Arguments, size_t &Index) {
  const std::string &Argument = Arguments[Index];
  if (Argument.size() > 2)
    return Argument.substr(2);
  return Index + 1 < Arguments.size() ? Arguments[++Index] : "";
}

bool linksDeviceCode(const std::vector<std::string> &Arguments) {
  auto Has = [&](const std::set<std::string> &Wanted) {
    return std::any_of(Arguments.begin(), Arguments.end(),
                       [&](const std::string &Argument) { return Wanted.count(Argument) > 0; });
  };
  return Has({"-fgpu-rdc", "--offload-link", "--hip-link"}) &&
         !Has({"-c", "-S", "-E", "-M", "-MM", "-fsyntax-only", "-###", "--offload-device-only"});
}

} // namespace

std::vector<std::string> archivesOf(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Paths, Folders, Libraries;
  for (size_t Index = 0; Index < Arguments.size(); ++Index) {
    const std::string &Argument = Arguments[Index];
    if (startsWith(Argument, "-L"))
      Folders.push_back(valueOf(Arguments, Index));
    else if (startsWith(Argument, "-l"))
      Libraries.push_back(valueOf(Arguments, Index));
    else if (Argument == "-o")
      ++Index;
    else if (Argument.size() > 2 && Argument.compare(Argument.size() - 2, 2, ".a") == 0)
      Paths.push_back(Argument);
  }
  for (const std::string &Library : Libraries)
    for (const std::string &Folder : Folders)
      Paths.push_back(Folder +
                      (startsWith(Library, ":") ? "/" + Library.substr(1) : "/lib" + Library + ".a"));
  return Paths;
}

std::set<std::string> deviceUnits(const std::vector<std::string> &Archives) {
  std::set<std::string> Units;
  for (const std::string &Archive : Archives)
    addDeviceUnits(Archive, Units);
  return Units;
}

std::vector<std::string> deviceUnitFlags(const std::vector<std::string> &Arguments) {
  std::vector<std::string> Flags;
  if (!linksDeviceCode(Arguments))
    return Flags;
  for (const std::string &Unit : deviceUnits(archivesOf(Arguments)))
    Flags.push_back("-Wl,-u," + Unit);
  return Flags;
}

} // namespace r3
