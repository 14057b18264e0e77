// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "known_chunks.h"
#include "pack.h"
#include "r3core/recorder.h"
#include "reach.h"

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace r3 {

/// Content of some device memory at one moment: the keys of its chunks.
using Image = std::vector<Key>;

/// A captured allocation or global, before and after the launch.
struct CapturedMemory {
  std::string name; ///< of a global; empty for an allocation
  std::uint64_t address;
  std::uint64_t size;
  Image before;
  std::vector<Fingerprint> fingerprints; ///< before, as the device gave them; empty if it gave none
  Key beforeList, afterList;
};

/// A launch between its prologue and its epilogue.
class Capture {
public:
  Capture(const Decision &decision, Memory &memory, PackWriter &pack, KnownChunks &known)
      : decision(decision), memory(memory), pack(pack), known(known) {}

  /// Copies what the launch can reach. Returns why it is not recordable, or nothing.
  std::optional<std::string> prologue(SnapshotKind snapshot, const std::vector<GlobalVariable> &globals);
  /// Also takes digests of all other memory, so that epilogue() can tell whether the launch changed it.
  std::optional<std::string> watchUnreached();
  std::optional<std::string> epilogue();
  /// XXH3-128 over kernel name, geometry, argument bytes and the before keys.
  std::string identity(const std::string &kernelName) const;

  /// What epilogue() says of a launch that changed memory which was not captured.
  static const char *const ChangedUnreached;

  const Decision decision;
  SnapshotKind snapshot = SnapshotKind::Reachable;
  std::vector<std::uint8_t> arguments;
  std::vector<CapturedMemory> regions, globals;
  std::uint64_t copiedBytes = 0; ///< of device memory, to the host
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

private:
  enum class Keep { Content, DigestOnly };
  using UseChunk = std::function<void(std::size_t index, const std::uint8_t *bytes, std::size_t size)>;
  using UsePiece = std::function<void(const std::uint8_t *bytes, std::size_t size)>;
  bool eachChunk(std::uint64_t address, std::uint64_t size, const UseChunk &use, const UsePiece &then = {});
  bool read(CapturedMemory &target);
  std::vector<Fingerprint> fingerprintsOf(const CapturedMemory &target);
  bool readOnDevice(CapturedMemory &target);
  bool readByView(CapturedMemory &target, Keep keep, Reach *reach);
  bool digest(CapturedMemory &target);
  bool reread(CapturedMemory &target);
  bool rereadByView(CapturedMemory &target, Image &after);
  std::optional<bool> isUnchanged(const CapturedMemory &target);
  bool keysOf(const CapturedMemory &target, const std::vector<Fingerprint> &fingerprints, Image &keys);
  bool store(const CapturedMemory &target, const std::vector<Fingerprint> &fingerprints, std::size_t first,
             std::size_t count);

  Memory &memory;
  PackWriter &pack;
  KnownChunks &known;
  std::vector<CapturedMemory> unreached;
  std::optional<Reach> reach;
};

} // namespace r3
