// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "foreign_code.h"
#include "lz4_block.h"

#include <algorithm>
#include <cctype>
#include <cstring>
#include <elf.h>
#include <string_view>
#include <zstd.h>

using namespace r3::cuda;

namespace {

constexpr std::uint32_t FatBinaryMagic = 0xba55ed50;
constexpr std::uint16_t PtxKind = 1, CubinKind = 2;
constexpr std::uint64_t Lz4Flag = 0x2000, ZstdFlag = 0x8000;
constexpr unsigned char ManagedSymbol = 4; // in a symbol's st_other, as ptxas marks it
constexpr std::size_t LargestPiece = std::size_t(1) << 30;

template <typename T> T load(const std::uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

bool isIdentifier(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$'; }

/// What a fat binary says of one piece in front of it.
struct PieceHeader {
  std::uint16_t kind, version;
  std::uint32_t headerSize;
  std::uint64_t payloadSize;
  std::uint32_t compressedSize, options, tool, architecture;
  std::uint32_t unused[2];
  std::uint64_t flags, reserved, uncompressedSize;
};
static_assert(sizeof(PieceHeader) == 64);

/// Reads the names of a cubin's symbols; false where it isn't one.
bool readCubin(ForeignCode &code) {
  const std::vector<std::uint8_t> &image = code.image;
  if (image.size() < sizeof(Elf64_Ehdr) || std::memcmp(image.data(), ELFMAG, SELFMAG) != 0)
    return false;
  auto header = load<Elf64_Ehdr>(image.data());
  auto section = [&](std::size_t number) {
    std::size_t at = header.e_shoff + number * sizeof(Elf64_Shdr);
    return number < header.e_shnum && at + sizeof(Elf64_Shdr) <= image.size()
               ? load<Elf64_Shdr>(image.data() + at)
               : Elf64_Shdr{};
  };
  auto text = [&](const Elf64_Shdr &strings, std::size_t offset) {
    std::size_t at = strings.sh_offset + offset;
    if (at >= image.size())
      return std::string();
    const auto *begin = reinterpret_cast<const char *>(image.data() + at);
    return std::string(begin, strnlen(begin, image.size() - at));
  };
  Elf64_Shdr names = section(header.e_shstrndx);
  for (std::size_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table = section(i);
    if (table.sh_type != SHT_SYMTAB || table.sh_offset + table.sh_size > image.size())
      continue;
    Elf64_Shdr strings = section(table.sh_link);
    for (std::size_t at = 0; at + sizeof(Elf64_Sym) <= table.sh_size; at += sizeof(Elf64_Sym)) {
      auto symbol = load<Elf64_Sym>(image.data() + table.sh_offset + at);
      std::string place = text(names, section(symbol.st_shndx).sh_name);
      bool isVariable = place == ".nv.global" || place == ".nv.global.init" || place == ".nv.constant3";
      if (ELF64_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
        code.kernels.push_back(text(strings, symbol.st_name));
      else if (ELF64_ST_TYPE(symbol.st_info) == STT_OBJECT && isVariable && symbol.st_size) {
        code.variables.push_back(text(strings, symbol.st_name));
        code.managed |= (symbol.st_other & ManagedSymbol) != 0;
      }
    }
  }
  return true;
}

/// The identifier that a PTX declaration declares: `.align 4 .b8 table[64] = …` and `.u32 counter` end in
/// one.
std::string declaredName(std::string_view declaration) {
  std::size_t end = declaration.find_first_of("[=;,");
  std::size_t last = end == std::string_view::npos ? declaration.size() : end;
  while (last > 0 && !isIdentifier(declaration[last - 1]))
    --last;
  std::size_t first = last;
  while (first > 0 && isIdentifier(declaration[first - 1]))
    --first;
  return std::string(declaration.substr(first, last - first));
}

/// Calls `use(rest)` with what follows each directive outside of functions' bodies and comments.
template <typename Use> void eachDirective(std::string_view text, std::string_view directive, Use use) {
  int depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text.substr(at, 2) == "//")
      at = std::min(text.find('\n', at), text.size());
    else if (text[at] == '{')
      ++depth;
    else if (text[at] == '}')
      --depth;
    else if (depth == 0 && text.substr(at, directive.size()) == directive &&
             at + directive.size() < text.size() &&
             std::isspace(static_cast<unsigned char>(text[at + directive.size()])))
      use(text.substr(at + directive.size()), text.substr(0, at));
  }
}

bool isExtern(std::string_view before) {
  std::size_t end = before.find_last_not_of(" \t\r\n");
  return end != std::string_view::npos && end >= 6 && before.substr(end - 6, 7) == ".extern";
}

bool readPtx(ForeignCode &code) {
  std::string_view text(reinterpret_cast<const char *>(code.image.data()), code.image.size());
  eachDirective(text, ".entry", [&](std::string_view rest, std::string_view) {
    code.kernels.push_back(declaredName(rest.substr(0, rest.find_first_of("({;"))));
  });
  for (std::string_view space : {".global", ".const"})
    eachDirective(text, space, [&](std::string_view rest, std::string_view before) {
      std::string_view declaration = rest.substr(0, rest.find(';'));
      for (std::string_view reference : {".texref", ".surfref", ".samplerref"})
        code.textures |= declaration.find(reference) != std::string_view::npos;
      code.managed |= declaration.find(".attribute(.managed)") != std::string_view::npos;
      if (!isExtern(before))
        code.variables.push_back(declaredName(declaration));
    });
  return !code.kernels.empty();
}

bool decompress(std::uint64_t flags, const std::uint8_t *from, std::size_t size,
                std::vector<std::uint8_t> &to) {
  if (flags & ZstdFlag)
    return ZSTD_decompress(to.data(), to.size(), from, size) == to.size();
  return decompressLz4(from, size, to.data(), to.size());
}

} // namespace

bool ForeignCode::holds(const std::string &kernel) const {
  return std::find(kernels.begin(), kernels.end(), kernel) != kernels.end();
}

ForeignImage::ForeignImage(const void *image, std::size_t size) {
  const auto *bytes = static_cast<const std::uint8_t *>(image);
  if (size >= 16 && load<std::uint32_t>(bytes) == FatBinaryMagic)
    readFatBinary(bytes, size);
  else if (size >= SELFMAG && !std::memcmp(bytes, ELFMAG, SELFMAG))
    pieces.push_back({ForeignCode::Format::Cubin, 0, 0, bytes, size, 0, false, nullptr});
  else
    pieces.push_back({ForeignCode::Format::Ptx, 0, 0, bytes, size, 0, false, nullptr});
}

void ForeignImage::readFatBinary(const std::uint8_t *image, std::size_t size) {
  std::size_t at = load<std::uint16_t>(image + 6);
  while (at + sizeof(PieceHeader) <= size) {
    auto header = load<PieceHeader>(image + at);
    std::size_t payload = at + header.headerSize;
    if (header.headerSize < sizeof(PieceHeader) || payload > size || header.payloadSize > size - payload)
      return;
    bool isPacked = header.flags & (Lz4Flag | ZstdFlag);
    std::size_t stored = isPacked ? header.compressedSize : header.payloadSize;
    if ((header.kind == PtxKind || header.kind == CubinKind) && stored <= header.payloadSize)
      pieces.push_back({header.kind == PtxKind ? ForeignCode::Format::Ptx : ForeignCode::Format::Cubin,
                        int(header.architecture), header.flags, image + payload, stored,
                        isPacked ? header.uncompressedSize : 0, false, nullptr});
    at = payload + header.payloadSize;
  }
}

std::shared_ptr<const ForeignCode> ForeignImage::unpack(const Piece &piece) {
  auto code = std::make_shared<ForeignCode>();
  code->format = piece.format;
  code->architecture = piece.architecture;
  if (piece.size > LargestPiece || piece.uncompressed > LargestPiece)
    return nullptr;
  if (piece.uncompressed) {
    code->image.resize(piece.uncompressed);
    if (!decompress(piece.flags, piece.payload, piece.size, code->image))
      return nullptr;
  } else {
    code->image.assign(piece.payload, piece.payload + piece.size);
  }
  bool readable = piece.format == ForeignCode::Format::Cubin ? readCubin(*code) : readPtx(*code);
  return readable ? code : nullptr;
}

std::shared_ptr<const ForeignCode> ForeignImage::find(const std::string &kernel, int ptxVersion,
                                                      int binaryVersion) {
  // Machine code first: the driver compiles PTX only where there is none for the device.
  for (auto format : {ForeignCode::Format::Cubin, ForeignCode::Format::Ptx}) {
    int wanted = format == ForeignCode::Format::Cubin ? binaryVersion : ptxVersion;
    for (Piece &piece : pieces) {
      if (piece.format != format || (piece.architecture && wanted && piece.architecture != wanted))
        continue;
      if (auto code = codeOf(piece); code && code->holds(kernel))
        return code;
    }
  }
  return nullptr;
}

std::shared_ptr<const ForeignCode> ForeignImage::ptx(const std::string &kernel, int binaryVersion) {
  std::shared_ptr<const ForeignCode> newest;
  for (Piece &piece : pieces) {
    if (piece.format != ForeignCode::Format::Ptx || piece.architecture > binaryVersion)
      continue;
    auto code = codeOf(piece);
    if (code && code->holds(kernel) && (!newest || newest->architecture < code->architecture))
      newest = std::move(code);
  }
  return newest;
}

std::shared_ptr<const ForeignCode> ForeignImage::codeOf(Piece &piece) {
  if (!piece.unpacked)
    piece.code = unpack(piece);
  piece.unpacked = true;
  return piece.code;
}
