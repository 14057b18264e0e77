// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <optional>
#include <string>

namespace r3 {

/// Rank of this process as the usual launchers tell it; nothing if none started it.
std::optional<long> processRank();

/// Whether the list ("0,4-7") holds the rank. An empty list holds every rank, and a process without a rank is
/// in every list. One that can't be read is reported once and holds every rank.
bool isAmong(const std::string &list, std::optional<long> rank);

} // namespace r3
