// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "pack.h"
#include "r3core/recorder.h"
#include "reach.h"

#include <chrono>
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
  Key beforeList, afterList;
};

/// A launch between its prologue and its epilogue.
class Capture {
public:
  Capture(const Decision &decision, Memory &memory, PackWriter &pack)
      : decision(decision), memory(memory), pack(pack) {}

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
  std::chrono::steady_clock::time_point begin = std::chrono::steady_clock::now();

private:
  enum class Keep { Content, DigestOnly };
  bool read(CapturedMemory &target, Keep keep, Reach *reach);
  bool reread(CapturedMemory &target);

  Memory &memory;
  PackWriter &pack;
  std::vector<CapturedMemory> unreached;
  std::optional<Reach> reach;
};

} // namespace r3
