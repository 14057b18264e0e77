// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/notes.h"
#include "r3core/log.h"

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <link.h>
#include <nlohmann/json.hpp>
#include <set>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

using namespace r3;

namespace {

constexpr std::uint32_t NoteType = 1;
constexpr std::uint32_t NoteVersion = 1;
constexpr std::size_t DescriptorSize = 80;
constexpr std::size_t MaximumJson = std::size_t(256) << 20;

template <typename T> T load(const std::uint8_t *from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

/// A field holds the distance from itself to what it names; 0 names nothing.
const std::uint8_t *target(const std::uint8_t *field) {
  auto distance = load<std::int64_t>(field);
  return distance ? field + distance : nullptr;
}

struct Descriptor {
  const std::uint8_t *bytes;
  std::string binary;
};

struct Walk {
  std::vector<Descriptor> found;
  unsigned long long loads = 0, unloads = 0;
  bool readLoadsOnly = false;
};

std::size_t aligned(std::size_t size, std::size_t alignment) {
  return (size + alignment - 1) & ~(alignment - 1);
}

std::string executablePath() {
  char path[4096];
  ssize_t length = readlink("/proc/self/exe", path, sizeof(path));
  return length > 0 ? std::string(path, length) : std::string();
}

/// The main program has no name in the loader's list.
std::string nameOf(const dl_phdr_info &object) {
  return object.dlpi_name && *object.dlpi_name ? object.dlpi_name : executablePath();
}

void readSegment(const std::uint8_t *at, std::size_t size, std::size_t alignment, const std::string &binary,
                 std::vector<Descriptor> &found) {
  const std::uint8_t *end = at + size;
  while (std::size_t(end - at) >= 12) {
    auto nameSize = load<std::uint32_t>(at), descriptorSize = load<std::uint32_t>(at + 4);
    auto type = load<std::uint32_t>(at + 8);
    std::size_t descriptorAt = aligned(12 + std::size_t(nameSize), alignment);
    std::size_t next = aligned(descriptorAt + descriptorSize, alignment);
    if (descriptorAt + descriptorSize > std::size_t(end - at))
      return;
    if (type == NoteType && nameSize == 3 && !std::memcmp(at + 12, "R3", 3) &&
        descriptorSize >= DescriptorSize)
      found.push_back({at + descriptorAt, binary});
    if (next > std::size_t(end - at))
      return;
    at += next;
  }
}

int visit(dl_phdr_info *object, std::size_t size, void *data) {
  auto &walk = *static_cast<Walk *>(data);
  if (size >= offsetof(dl_phdr_info, dlpi_subs) + sizeof(object->dlpi_subs)) {
    walk.loads = object->dlpi_adds;
    walk.unloads = object->dlpi_subs;
  }
  if (walk.readLoadsOnly)
    return 1;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const auto &segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    readSegment(reinterpret_cast<const std::uint8_t *>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz,
                segment.p_align == 8 ? 8 : 4, nameOf(*object), walk.found);
  }
  return 0;
}

std::string decompress(const std::uint8_t *from, std::size_t size) {
  unsigned long long whole = ZSTD_getFrameContentSize(from, size);
  if (whole == ZSTD_CONTENTSIZE_UNKNOWN || whole == ZSTD_CONTENTSIZE_ERROR || whole > MaximumJson)
    return {};
  std::string text(whole, '\0');
  std::size_t got = ZSTD_decompress(text.data(), text.size(), from, size);
  return ZSTD_isError(got) || got != whole ? std::string() : text;
}

void readGlobal(const nlohmann::json &entry, Note &note) {
  note.globals.push_back(
      {entry.at("name"), entry.at("size"), entry.at("space") == "constant", entry.at("mutable")});
}

/// LLVM's integers and floating-point types.
bool isNumber(const std::string &type) {
  return type == "half" || type == "bfloat" || type == "float" || type == "double" ||
         (type.size() > 1 && type[0] == 'i' && type.find_first_not_of("0123456789", 1) == std::string::npos);
}

void readKernel(const nlohmann::json &entry, Note &note) {
  NoteKernel kernel;
  kernel.name = entry.at("name");
  for (const auto &parameter : entry.at("parameters"))
    kernel.parameters.push_back(
        {parameter.at("offset"), parameter.at("size"), isNumber(parameter.value("type", ""))});
  for (const auto &global : entry.at("globals"))
    kernel.globals.push_back(global);
  kernel.textures = entry.value("textures", false);
  note.kernels.push_back(std::move(kernel));
}

/// A file's content, which stays mapped; empty without one.
std::string_view contentOf(const std::string &path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return {};
  struct stat status{};
  void *content = MAP_FAILED;
  if (!fstat(file, &status) && status.st_size > 0)
    content = mmap(nullptr, std::size_t(status.st_size), PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  return content == MAP_FAILED
             ? std::string_view()
             : std::string_view(static_cast<const char *>(content), std::size_t(status.st_size));
}

/// Puts the module that a unit's program was linked into in the unit's place, if `r3 record` has made it
/// (r3cc/record/linked_modules.py). Gives the whole module's JSON, else the unit's.
nlohmann::json takeWhole(Note &note, nlohmann::json unit) {
  const char *folder = std::getenv("R3_LINKED_MODULES");
  if (!note.relocatable || !folder)
    return unit;
  std::string prefix = std::string(folder) + "/";
  std::string whole(contentOf(prefix + unit.at("module").get<std::string>() + ".unit"));
  std::string_view bitcode = contentOf(prefix + whole + ".bc"), info = contentOf(prefix + whole + ".json");
  if (whole.empty() || bitcode.empty() || info.empty())
    return unit;
  auto parsed = nlohmann::json::parse(info);
  note.bitcode = reinterpret_cast<const std::uint8_t *>(bitcode.data());
  note.bitcodeSize = bitcode.size();
  note.info = info;
  return parsed;
}

std::unique_ptr<Note> read(const Descriptor &descriptor) {
  const std::uint8_t *bytes = descriptor.bytes;
  const std::uint8_t *json = target(bytes + 32), *bitcode = target(bytes + 16);
  constexpr std::uint32_t Tuned = 2;
  if (load<std::uint32_t>(bytes) == NoteVersion && !bitcode && (load<std::uint32_t>(bytes + 4) & Tuned)) {
    message(
        "%s is a tuned build (--r3-use), which carries no IR; its kernels are only counted: record a build "
        "without --r3-use to tune again",
        descriptor.binary.c_str());
    return nullptr;
  }
  if (load<std::uint32_t>(bytes) != NoteVersion || !json || !bitcode) {
    message(
        "%s carries an R3 note of version %u, this recorder reads version %u; its kernels are only counted",
        descriptor.binary.c_str(), load<std::uint32_t>(bytes), NoteVersion);
    return nullptr;
  }
  auto note = std::make_unique<Note>();
  note->binary = descriptor.binary;
  note->relocatable = load<std::uint32_t>(bytes + 4) & 1;
  note->wrapper = reinterpret_cast<std::uint64_t>(target(bytes + 8));
  note->bitcode = bitcode;
  note->bitcodeSize = load<std::uint64_t>(bytes + 24);
  std::memcpy(note->imageDigest.data(), bytes + 48, 32);
  note->info = decompress(json, load<std::uint64_t>(bytes + 40));
  try {
    auto parsed = takeWhole(*note, nlohmann::json::parse(note->info));
    note->module = parsed.at("module");
    note->architecture = parsed.at("architecture");
    for (const auto &entry : parsed.at("globals"))
      readGlobal(entry, *note);
    for (const auto &entry : parsed.at("kernels"))
      readKernel(entry, *note);
  } catch (const std::exception &) {
    message("%s carries an R3 note that can't be read; its kernels are only counted",
            descriptor.binary.c_str());
    return nullptr;
  }
  return note;
}

template <typename Wanted> std::vector<const Note *> filter(std::vector<const Note *> all, Wanted wanted) {
  std::vector<const Note *> result;
  for (const Note *note : all)
    if (wanted(*note))
      result.push_back(note);
  return result;
}

} // namespace

std::string r3::objectPath(const void *address) {
  struct Search {
    std::uint64_t address;
    std::string path;
  } search{reinterpret_cast<std::uint64_t>(address), ""};
  dl_iterate_phdr(
      [](dl_phdr_info *object, std::size_t, void *data) {
        auto &wanted = *static_cast<Search *>(data);
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const auto &segment = object->dlpi_phdr[i];
          if (segment.p_type != PT_LOAD ||
              wanted.address - object->dlpi_addr - segment.p_vaddr >= segment.p_memsz)
            continue;
          wanted.path = nameOf(*object);
          return 1;
        }
        return 0;
      },
      &search);
  return search.path;
}

const NoteKernel *Note::kernel(const std::string &name) const {
  for (const NoteKernel &kernel : kernels)
    if (kernel.name == name)
      return &kernel;
  return nullptr;
}

const NoteGlobal *Note::global(const std::string &name) const {
  for (const NoteGlobal &global : globals)
    if (global.name == name)
      return &global;
  return nullptr;
}

void NoteIndex::refresh() {
  Walk walk;
  walk.readLoadsOnly = true;
  dl_iterate_phdr(visit, &walk);
  if (loads && walk.loads == loads && walk.unloads == unloads)
    return;
  if (walk.unloads != unloads)
    known.clear(); // another object may lie where one was
  walk.readLoadsOnly = false;
  dl_iterate_phdr(visit, &walk);
  loads = walk.loads;
  unloads = walk.unloads;
  active.clear();
  for (const Descriptor &descriptor : walk.found) {
    auto [entry, isNew] = known.try_emplace(reinterpret_cast<std::uint64_t>(descriptor.bytes), nullptr);
    if (isNew)
      if (auto note = read(descriptor)) {
        entry->second = note.get();
        notes.push_back(std::move(note));
      }
    if (entry->second)
      active.push_back(entry->second);
  }
}

std::vector<const Note *> NoteIndex::all() {
  std::lock_guard lock(mutex);
  refresh();
  return active;
}

std::vector<const Note *> NoteIndex::byWrapper(const void *wrapper) {
  return filter(all(), [&](const Note &note) {
    return note.wrapper && note.wrapper == reinterpret_cast<std::uint64_t>(wrapper);
  });
}

std::vector<const Note *> NoteIndex::byDigest(const std::array<std::uint8_t, 32> &digest) {
  return filter(all(), [&](const Note &note) { return !note.relocatable && note.imageDigest == digest; });
}

std::vector<const Note *> NoteIndex::byKernel(const std::string &binary, const std::string &kernel) {
  return filter(relocatable(binary), [&](const Note &note) { return note.kernel(kernel); });
}

std::vector<const Note *> NoteIndex::relocatable(const std::string &binary) {
  std::set<std::string> seen;
  return filter(all(), [&](const Note &note) {
    return note.relocatable && note.binary == binary && seen.insert(note.module).second;
  });
}
