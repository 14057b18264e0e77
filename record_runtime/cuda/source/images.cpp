// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "images.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <fstream>
#include <iterator>

#define XXH_INLINE_ALL
#include <xxhash.h>

using namespace r3;
using namespace r3::cuda;

namespace {

constexpr std::uint32_t WrapperMagic = 0x466243b1; // also clang's and nvcc's
constexpr std::uint32_t FatBinaryMagic = 0xba55ed50;

constexpr std::size_t DigestLimit = std::size_t(64) << 20;

struct FatBinaryWrapper {
  std::uint32_t magic, version;
  const void *data;
  void *unused;
};

struct FatBinaryHeader {
  std::uint32_t magic;
  std::uint16_t version, headerSize;
  std::uint64_t size;
};

std::uint32_t magicOf(const void *code) {
  std::uint32_t magic;
  std::memcpy(&magic, code, 4);
  return magic;
}

std::size_t cubinSize(const void *code) {
  Elf64_Ehdr header;
  std::memcpy(&header, code, sizeof(header));
  return std::max<std::size_t>(header.e_shoff + std::size_t(header.e_shnum) * header.e_shentsize,
                               header.e_phoff + std::size_t(header.e_phnum) * header.e_phentsize);
}

/// Bytes of a fat binary, cubin or PTX text.
std::size_t imageSize(const void *code) {
  if (magicOf(code) == FatBinaryMagic) {
    FatBinaryHeader header;
    std::memcpy(&header, code, sizeof(header));
    return header.headerSize + header.size;
  }
  if (!std::memcmp(code, ELFMAG, SELFMAG))
    return cubinSize(code);
  return std::strlen(static_cast<const char *>(code));
}

/// Libraries carry hundreds of megabytes of device code, most of it never loaded: of a large image only its
/// size, its beginning and its end are read.
std::string foreignName(const void *image, std::size_t size) {
  constexpr std::size_t Part = std::size_t(64) << 10;
  const auto *bytes = static_cast<const char *>(image);
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  XXH3_128bits_update(&state, &size, sizeof(size));
  XXH3_128bits_update(&state, bytes, std::min(size, Part));
  if (size > Part)
    XXH3_128bits_update(&state, bytes + std::max(size - Part, Part), std::min(size - Part, Part));
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_digest(&state));
  static const char digits[] = "0123456789abcdef";
  std::string name = "foreign:";
  for (unsigned char byte : canonical.digest) {
    name += digits[byte >> 4];
    name += digits[byte & 15];
  }
  return name;
}

} // namespace

std::shared_ptr<Image> Images::describe(const void *code) {
  auto image = std::make_shared<Image>();
  if (!code)
    return image;
  image->binary = objectPath(code);
  const void *content = code;
  if (magicOf(code) == WrapperMagic) {
    image->wrapper = code;
    image->notes = notes.byWrapper(code);
    content = static_cast<const FatBinaryWrapper *>(code)->data;
    if (!image->notes.empty())
      return image;
  }
  std::size_t size = imageSize(content);
  image->foreignModule = foreignName(content, size);
  // A copy of what a compiler embedded is small; a library's own images would take seconds.
  if (size <= DigestLimit && !notes.all().empty())
    image->notes = notes.byDigest(sha256(content, size));
  if (keep == Keep::ForeignCode && image->notes.empty()) {
    const auto *bytes = static_cast<const std::uint8_t *>(content);
    if (image->binary.empty()) { // not part of a loaded object
      image->copy.assign(bytes, bytes + size);
      bytes = image->copy.data();
    }
    image->foreign = std::make_shared<ForeignImage>(bytes, size);
  }
  return image;
}

std::shared_ptr<Image> Images::describeFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto image = content.size() < 64 ? std::make_shared<Image>() : describe(content.data());
  image->binary = path;
  return image;
}

void Images::loaded(CUlibrary library, const void *code) {
  auto image = describe(code);
  std::lock_guard lock(mutex);
  libraries[library] = std::move(image);
}

void Images::loaded(CUmodule module, const void *code) {
  auto image = describe(code);
  std::lock_guard lock(mutex);
  modules[module] = std::move(image);
}

void Images::loadedFile(CUlibrary library, const char *path) {
  auto image = describeFile(path);
  std::lock_guard lock(mutex);
  libraries[library] = std::move(image);
}

void Images::loadedFile(CUmodule module, const char *path) {
  auto image = describeFile(path);
  std::lock_guard lock(mutex);
  modules[module] = std::move(image);
}

void Images::unloaded(CUlibrary library) {
  std::lock_guard lock(mutex);
  auto gone = libraries.find(library);
  if (gone == libraries.end())
    return;
  for (auto module = modules.begin(); module != modules.end();)
    module = module->second == gone->second ? modules.erase(module) : std::next(module);
  libraries.erase(gone);
}

void Images::unloaded(CUmodule module) {
  std::lock_guard lock(mutex);
  modules.erase(module);
}

std::shared_ptr<const Image> Images::find(CUlibrary library) {
  std::lock_guard lock(mutex);
  auto known = libraries.find(library);
  return known == libraries.end() ? nullptr : known->second;
}

std::shared_ptr<const Image> Images::find(CUmodule module) {
  std::lock_guard lock(mutex);
  auto known = modules.find(module);
  if (known != modules.end())
    return known->second;
  if (!driver().cuLibraryGetModule)
    return nullptr;
  for (const auto &[library, image] : libraries) {
    CUmodule part = nullptr;
    if (driver().cuLibraryGetModule(&part, library) == CUDA_SUCCESS && part == module)
      return modules[module] = image;
  }
  return nullptr;
}

std::vector<const Note *> Images::notesOf(const Image &image, const std::string &kernel) {
  std::vector<const Note *> holders;
  for (const Note *note : image.notes)
    if (note->kernel(kernel))
      holders.push_back(note);
  return holders.empty() ? notes.byKernel(image.binary, kernel) : holders;
}

std::shared_ptr<const ForeignCode> Images::foreignPtx(const Image &image, const std::string &kernel,
                                                      int binaryVersion) {
  std::lock_guard lock(unpacking);
  return image.foreign ? image.foreign->ptx(kernel, binaryVersion) : nullptr;
}

std::shared_ptr<const ForeignCode> Images::foreignCode(const Image &image, const std::string &kernel,
                                                       int ptxVersion, int binaryVersion) {
  std::lock_guard lock(unpacking);
  return image.foreign ? image.foreign->find(kernel, ptxVersion, binaryVersion) : nullptr;
}
