// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <string>

namespace r3 {

/// Which memory a recorded launch carries (docs/store-format.md).
enum class SnapshotKind { Reachable, All };

/// What `r3 record` asks of the recorder, by environment variables (docs/recorder.md).
struct Settings {
  std::string directory;      ///< R3_RECORD_DIR: the recording's directory; empty: nothing is recorded
  std::string kernels;        ///< R3_RECORD_KERNELS: POSIX extended regular expression; empty: every kernel
  std::uint64_t launches = 3; ///< R3_RECORD_LAUNCHES: launches kept per kernel and shape
  std::uint64_t heldOut = 1;  ///< R3_RECORD_HELD_OUT: further ones that no search may see
  std::uint64_t skip = 0;     ///< R3_RECORD_SKIP: launches of each kernel passed over first
  std::uint64_t every = 0;    ///< R3_RECORD_EVERY: distance of recorded launches; 0: it grows
  std::string ranks;      ///< R3_RECORD_RANKS: "0,4-7": processes that record; empty: all of them; "spread"
  std::string plan;       ///< R3_RECORD_PLAN: a file that names the launches to record; empty: none
  bool timesOnly = false; ///< R3_RECORD_TIMES_ONLY: launches are counted and timed, and no memory is kept
  bool foreign = false;   ///< R3_RECORD_FOREIGN: kernels without a note are recorded with their code
  bool deviceHash = true; ///< R3_RECORD_DEVICE_HASH: memory stored before is recognised on the device
  SnapshotKind snapshot = SnapshotKind::Reachable; ///< R3_RECORD_SNAPSHOT: reachable or all
  std::uint64_t quotaBytes =
      UINT64_MAX; ///< R3_RECORD_QUOTA_BYTES: size at which a pack takes no more launches
  std::uint64_t deadlineMilliseconds =
      10000; ///< R3_RECORD_DEADLINE_MS: how long a snapshot waits for the device
  /// R3_RECORD_ARENA_BASE. Below all that a Linux of x86-64 places at random, be it of 28 bits or of 32:
  /// programs lie from 0x555555554000 to 0x655555554000, libraries above 0x6ffff0000000.
  std::uint64_t arenaBase = 0x440000000000;
  std::uint64_t arenaSize = std::uint64_t(1) << 40; ///< R3_RECORD_ARENA_SIZE, bytes, for each device
};

/// Reads the variables; a value that can't be read is reported once and its default is used.
Settings settingsFromEnvironment();

} // namespace r3
