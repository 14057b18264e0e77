// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <optional>
#include <string>

namespace r3 {

/// Rank of this process as the usual launchers tell it; nothing if none started it.
std::optional<long> processRank();

/// Number of ranks of the job; nothing if it isn't known.
std::optional<long> rankCount();

/// The list that has kernels spread over the ranks (KernelClaims).
extern const char *const SpreadOverRanks;

/// Whether the list ("0,4-7") holds the rank. An empty list holds every rank, and a process without a rank is
/// in every list. One that can't be read is reported once and holds every rank.
bool isAmong(const std::string &list, std::optional<long> rank);

/// Spreads kernels over the ranks of a job: each kernel and shape is recorded by the one process that first
/// makes its file in the recording's folder `claims`. That needs no lock, and works on shared file systems.
/// Where nothing is to be spread, or the ranks aren't known, everything is this process's.
class KernelClaims {
public:
  KernelClaims(const std::string &directory, const std::string &ranks);
  /// Whether this process records the shape, whose launch number `launches` this is; nothing as long as that
  /// is open: at first a kernel is left to the rank that its name picks.
  std::optional<bool> ask(const KernelDescription &kernel, const Geometry &geometry, std::uint64_t launches);

private:
  const std::string directory;
  const std::optional<long> rank, count;
  const bool spreads;
};

} // namespace r3
