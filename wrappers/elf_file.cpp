// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "elf_file.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

namespace r3 {
namespace {

/// Reads parts of a file that may be cut off or lie about itself.
class File {
public:
  explicit File(const std::string &Path) : Fd(open(Path.c_str(), O_RDONLY | O_CLOEXEC)) {}
  ~File() {
    if (Fd >= 0)
      close(Fd);
  }
  File(const File &) = delete;
  File &operator=(const File &) = delete;

  bool read(void *Target, size_t Size, uint64_t Offset) const {
    return Fd >= 0 && pread(Fd, Target, Size, static_cast<off_t>(Offset)) == static_cast<ssize_t>(Size);
  }

  template <typename Entry> bool readTable(std::vector<Entry> &Table, uint64_t Size, uint64_t Offset) const {
    constexpr uint64_t LargestTable = 64 << 20;
    if (Size > LargestTable)
      return false;
    Table.resize(Size / sizeof(Entry));
    return read(Table.data(), Table.size() * sizeof(Entry), Offset);
  }

private:
  int Fd;
};

bool is64BitElf(const Elf64_Ehdr &Header) {
  return std::memcmp(Header.e_ident, ELFMAG, SELFMAG) == 0 && Header.e_ident[EI_CLASS] == ELFCLASS64 &&
         Header.e_phentsize == sizeof(Elf64_Phdr);
}

const Elf64_Phdr *findSegment(const std::vector<Elf64_Phdr> &Segments, uint32_t Type, uint64_t Address) {
  for (const Elf64_Phdr &Segment : Segments)
    if (Segment.p_type == Type &&
        (Type != PT_LOAD || (Segment.p_vaddr <= Address && Address - Segment.p_vaddr < Segment.p_filesz)))
      return &Segment;
  return nullptr;
}

uint64_t dynamicValue(const std::vector<Elf64_Dyn> &Dynamic, int64_t Tag) {
  for (const Elf64_Dyn &Entry : Dynamic)
    if (Entry.d_tag == Tag)
      return Entry.d_un.d_val;
  return 0;
}

} // namespace

std::optional<std::vector<std::string>> neededLibraries(const std::string &Path) {
  File Input(Path);
  Elf64_Ehdr Header;
  std::vector<Elf64_Phdr> Segments;
  if (!Input.read(&Header, sizeof Header, 0) || !is64BitElf(Header) ||
      !Input.readTable(Segments, uint64_t(Header.e_phnum) * sizeof(Elf64_Phdr), Header.e_phoff))
    return std::nullopt;

  std::vector<std::string> Libraries;
  const Elf64_Phdr *DynamicSegment = findSegment(Segments, PT_DYNAMIC, 0);
  if (!DynamicSegment)
    return Libraries; // a static program
  std::vector<Elf64_Dyn> Dynamic;
  if (!Input.readTable(Dynamic, DynamicSegment->p_filesz, DynamicSegment->p_offset))
    return std::nullopt;

  uint64_t Address = dynamicValue(Dynamic, DT_STRTAB);
  const Elf64_Phdr *Holder = findSegment(Segments, PT_LOAD, Address);
  std::vector<char> Names;
  if (!Holder ||
      !Input.readTable(Names, dynamicValue(Dynamic, DT_STRSZ), Holder->p_offset + Address - Holder->p_vaddr))
    return std::nullopt;
  Names.push_back('\0');
  for (const Elf64_Dyn &Entry : Dynamic)
    if (Entry.d_tag == DT_NEEDED && Entry.d_un.d_val < Names.size())
      Libraries.push_back(Names.data() + Entry.d_un.d_val);
  return Libraries;
}

} // namespace r3
