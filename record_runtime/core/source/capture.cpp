// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture.h"
#include "parallel.h"

#include <algorithm>
#include <atomic>

using namespace r3;

namespace {

const char *const Unreadable = "device memory could not be read";
const char *const NoRoom = "the recording is full";

std::size_t chunksOf(std::uint64_t size) { return (size + ChunkBytes - 1) / ChunkBytes; }

/// Bytes of chunk number `index` of a memory.
std::uint64_t chunkSize(std::uint64_t size, std::size_t index) {
  return std::min<std::uint64_t>(ChunkBytes, size - std::uint64_t(index) * ChunkBytes);
}

Key putList(PackWriter &pack, const Image &image) {
  static_assert(sizeof(Key) == 16);
  return pack.putBlob(image.data(), image.size() * sizeof(Key));
}

} // namespace

const char *const Capture::ChangedUnreached =
    "it changes memory that its arguments don't lead to; later launches are recorded with all memory";

/// Calls `use` for each chunk of device memory, several at a time, and `then` for the piece that held them.
bool Capture::eachChunk(std::uint64_t address, std::uint64_t size, const UseChunk &use,
                        const UsePiece &then) {
  for (std::uint64_t done = 0; done < size;) {
    std::size_t part = std::min<std::uint64_t>(size - done, Memory::ViewBytes);
    const std::uint8_t *bytes = memory.view(address + done, part);
    if (!bytes)
      return false;
    copiedBytes += part;
    std::size_t first = done / ChunkBytes;
    inParallel(chunksOf(part), snapshotThreads(), [&](std::size_t i) {
      use(first + i, bytes + i * ChunkBytes, std::size_t(chunkSize(part, i)));
    });
    if (then)
      then(bytes, part);
    done += part;
  }
  return true;
}

/// Keys of the target's chunks, its content in the pack, and its pointers followed.
bool Capture::read(CapturedMemory &target) {
  return readOnDevice(target) || readByView(target, Keep::Content, &*reach);
}

/// Empty where the device gives none.
std::vector<Fingerprint> Capture::fingerprintsOf(const CapturedMemory &target) {
  std::vector<Fingerprint> chunks;
  bool given = memory.fingerprint(target.address, target.size, chunks);
  return given ? chunks : std::vector<Fingerprint>();
}

/// Copies only what the pack doesn't hold. False where the device can't look at its memory itself.
bool Capture::readOnDevice(CapturedMemory &target) {
  std::vector<std::uint8_t> hits;
  target.fingerprints = fingerprintsOf(target);
  if (target.fingerprints.empty() ||
      !memory.findPointers(target.address, target.size, reach->targets(), hits) ||
      !keysOf(target, target.fingerprints, target.before)) {
    target.fingerprints.clear();
    return false;
  }
  reach->found(hits);
  target.beforeList = putList(pack, target.before);
  return true;
}

bool Capture::readByView(CapturedMemory &target, Keep keep, Reach *scanner) {
  target.before.assign(chunksOf(target.size), Key());
  auto keyed = [&](std::size_t index, const std::uint8_t *bytes, std::size_t size) {
    target.before[index] = chunkKey(bytes, size);
    if (keep == Keep::Content)
      pack.put(target.before[index], bytes, size);
  };
  auto scanned = [&](const std::uint8_t *bytes, std::size_t size) {
    if (scanner)
      scanner->scan(bytes, size, Reach::Source::Memory);
  };
  bool complete = eachChunk(target.address, target.size, keyed, scanned);
  if (complete && keep == Keep::Content)
    target.beforeList = putList(pack, target.before);
  return complete;
}

/// Keys of contents by their fingerprints; what is new is copied, once, and stored.
bool Capture::keysOf(const CapturedMemory &target, const std::vector<Fingerprint> &fingerprints,
                     Image &keys) {
  constexpr std::size_t Most = Memory::ViewBytes / ChunkBytes;
  std::size_t count = fingerprints.size();
  auto isNew = [&](std::size_t i) { return !known.find(fingerprints[i], chunkSize(target.size, i)); };
  for (std::size_t i = 0; i < count;) {
    std::size_t first = i;
    while (i < count && i - first < Most && isNew(i) &&
           (i == first || fingerprints[i] != fingerprints[i - 1]))
      ++i;
    if (i == first)
      ++i;
    else if (!store(target, fingerprints, first, i - first))
      return false;
  }
  keys.clear();
  for (std::size_t i = 0; i < count; ++i)
    keys.push_back(*known.find(fingerprints[i], chunkSize(target.size, i)));
  return true;
}

/// Copies chunks [first, first + count).
bool Capture::store(const CapturedMemory &target, const std::vector<Fingerprint> &fingerprints,
                    std::size_t first, std::size_t count) {
  std::uint64_t offset = std::uint64_t(first) * ChunkBytes;
  std::uint64_t size = std::min<std::uint64_t>(target.size - offset, std::uint64_t(count) * ChunkBytes);
  Image keys(count);
  bool complete = eachChunk(target.address + offset, size,
                            [&](std::size_t index, const std::uint8_t *bytes, std::size_t part) {
                              keys[index] = chunkKey(bytes, part);
                              pack.put(keys[index], bytes, part);
                            });
  for (std::size_t i = 0; complete && i < count; ++i)
    known.add(fingerprints[first + i], chunkSize(target.size, first + i), keys[i]);
  return complete;
}

std::optional<std::string> Capture::prologue(SnapshotKind kind,
                                             const std::vector<GlobalVariable> &variables) {
  snapshot = kind;
  reach.emplace(memory.allocations(), memory.foreign());
  reach->scan(arguments.data(), arguments.size(), Reach::Source::Roots);
  if (kind == SnapshotKind::All)
    reach->addAll();
  for (const GlobalVariable &variable : variables) {
    CapturedMemory global{variable.name, variable.address, variable.size, {}, {}, {}, {}};
    if (!read(global))
      return Unreadable;
    globals.push_back(std::move(global));
  }
  for (std::ptrdiff_t index; !reach->foreignReason() && (index = reach->takePending()) >= 0;) {
    Allocation allocation = reach->allocations()[std::size_t(index)];
    CapturedMemory region{"", allocation.address, allocation.size, {}, {}, {}, {}};
    if (!read(region))
      return Unreadable;
    if (!pack.accepting())
      return NoRoom;
    regions.push_back(std::move(region));
  }
  if (reach->foreignReason())
    return reach->foreignReason();
  std::sort(regions.begin(), regions.end(),
            [](const CapturedMemory &a, const CapturedMemory &b) { return a.address < b.address; });
  return std::nullopt;
}

std::optional<std::string> Capture::watchUnreached() {
  for (std::size_t i = 0; i < reach->allocations().size(); ++i) {
    Allocation allocation = reach->allocations()[i];
    if (reach->reached(i) || allocation.isHost) // what the host changes says nothing of the launch
      continue;
    CapturedMemory region{"", allocation.address, allocation.size, {}, {}, {}, {}};
    if (!digest(region))
      return Unreadable;
    unreached.push_back(std::move(region));
  }
  return std::nullopt;
}

bool Capture::digest(CapturedMemory &target) {
  target.fingerprints = fingerprintsOf(target);
  return !target.fingerprints.empty() || readByView(target, Keep::DigestOnly, nullptr);
}

bool Capture::reread(CapturedMemory &target) {
  Image after;
  std::vector<Fingerprint> now;
  if (!target.fingerprints.empty())
    now = fingerprintsOf(target);
  if ((now.empty() || !keysOf(target, now, after)) && !rereadByView(target, after))
    return false;
  target.afterList = after == target.before ? target.beforeList : putList(pack, after);
  return true;
}

bool Capture::rereadByView(CapturedMemory &target, Image &after) {
  after.assign(target.before.size(), Key());
  return eachChunk(target.address, target.size,
                   [&](std::size_t index, const std::uint8_t *bytes, std::size_t size) {
                     after[index] = chunkKey(bytes, size);
                     if (after[index] != target.before[index])
                       pack.put(after[index], bytes, size);
                   });
}

/// Whether memory is as digest() found it; nothing if that can't be told.
std::optional<bool> Capture::isUnchanged(const CapturedMemory &target) {
  if (!target.fingerprints.empty()) {
    std::vector<Fingerprint> now = fingerprintsOf(target);
    return now.empty() ? std::nullopt : std::optional(now == target.fingerprints);
  }
  std::atomic<bool> same{true};
  if (!eachChunk(target.address, target.size,
                 [&](std::size_t index, const std::uint8_t *bytes, std::size_t size) {
                   if (chunkKey(bytes, size) != target.before[index])
                     same = false;
                 }))
    return std::nullopt;
  return same;
}

std::optional<std::string> Capture::epilogue() {
  for (const CapturedMemory &region : unreached) {
    std::optional<bool> same = isUnchanged(region);
    if (!same)
      return Unreadable;
    if (!*same)
      return ChangedUnreached;
  }
  for (auto *captured : {&globals, &regions})
    for (CapturedMemory &target : *captured)
      if (!reread(target))
        return Unreadable;
  if (!pack.accepting())
    return NoRoom;
  return std::nullopt;
}

std::string Capture::identity(const std::string &kernelName) const {
  std::vector<std::uint8_t> content(kernelName.begin(), kernelName.end());
  const Geometry &geometry = decision.geometry;
  for (std::uint32_t part : {geometry.grid.x, geometry.grid.y, geometry.grid.z, geometry.block.x,
                             geometry.block.y, geometry.block.z, geometry.shared})
    for (int i = 0; i < 4; ++i)
      content.push_back(std::uint8_t(part >> 8 * i));
  content.insert(content.end(), arguments.begin(), arguments.end());
  for (const auto *captured : {&regions, &globals})
    for (const CapturedMemory &target : *captured)
      content.insert(content.end(), target.beforeList.bytes.begin(), target.beforeList.bytes.end());
  return keyOf(content.data(), content.size()).hex();
}
