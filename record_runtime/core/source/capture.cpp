// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture.h"

#include <algorithm>

using namespace r3;

namespace {

const char *const Unreadable = "device memory could not be read";
const char *const NoRoom = "the recording is full";

Key putList(PackWriter &pack, const Image &image) {
  static_assert(sizeof(Key) == 16);
  return pack.putBlob(image.data(), image.size() * sizeof(Key));
}

/// Calls `use(bytes, size)` for each chunk of device memory, in order.
template <typename Use> bool eachChunk(Memory &memory, std::uint64_t address, std::uint64_t size, Use use) {
  for (std::uint64_t done = 0; done < size;) {
    std::size_t part = std::min<std::uint64_t>(size - done, Memory::ViewBytes);
    const std::uint8_t *bytes = memory.view(address + done, part);
    if (!bytes)
      return false;
    for (std::size_t at = 0; at < part; at += ChunkBytes)
      use(bytes + at, std::min(ChunkBytes, part - at));
    done += part;
  }
  return true;
}

} // namespace

const char *const Capture::ChangedUnreached =
    "it changes memory that its arguments don't lead to; later launches are recorded with all memory";

bool Capture::read(CapturedMemory &target, Keep keep, Reach *scanner) {
  target.before.reserve((target.size + ChunkBytes - 1) / ChunkBytes);
  bool complete =
      eachChunk(memory, target.address, target.size, [&](const std::uint8_t *bytes, std::size_t size) {
        Key key = chunkKey(bytes, size);
        target.before.push_back(key);
        if (keep == Keep::Content)
          pack.put(key, bytes, size);
        if (scanner && key != Key())
          scanner->scan(bytes, size, Reach::Source::Memory);
      });
  if (complete && keep == Keep::Content)
    target.beforeList = putList(pack, target.before);
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
    CapturedMemory global{variable.name, variable.address, variable.size, {}, {}, {}};
    if (!read(global, Keep::Content, &*reach))
      return Unreadable;
    globals.push_back(std::move(global));
  }
  for (std::ptrdiff_t index; !reach->foreignReason() && (index = reach->takePending()) >= 0;) {
    Allocation allocation = reach->allocations()[std::size_t(index)];
    CapturedMemory region{"", allocation.address, allocation.size, {}, {}, {}};
    if (!read(region, Keep::Content, &*reach))
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
    CapturedMemory region{"", allocation.address, allocation.size, {}, {}, {}};
    if (!read(region, Keep::DigestOnly, nullptr))
      return Unreadable;
    unreached.push_back(std::move(region));
  }
  return std::nullopt;
}

bool Capture::reread(CapturedMemory &target) {
  Image after;
  after.reserve(target.before.size());
  bool complete =
      eachChunk(memory, target.address, target.size, [&](const std::uint8_t *bytes, std::size_t size) {
        Key key = chunkKey(bytes, size);
        if (key != target.before[after.size()])
          pack.put(key, bytes, size);
        after.push_back(key);
      });
  if (!complete)
    return false;
  target.afterList = after == target.before ? target.beforeList : putList(pack, after);
  return true;
}

std::optional<std::string> Capture::epilogue() {
  for (const CapturedMemory &region : unreached) {
    bool same = true;
    std::size_t chunk = 0;
    if (!eachChunk(memory, region.address, region.size, [&](const std::uint8_t *bytes, std::size_t size) {
          same = chunkKey(bytes, size) == region.before[chunk++] && same;
        }))
      return Unreadable;
    if (!same)
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
