// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace r3 {

/// A launch to record, by its number among those of its kernel and shape.
struct PlannedLaunch {
  std::uint64_t ordinal;
  bool heldOut;
};

/// Which launches to record, known from an earlier run (docs/recorder.md, "plan").
class Plan {
public:
  /// Reads the file; nothing, after a message, where it can't be read.
  static std::optional<Plan> read(const std::string &path);
  /// The kernel's launches with this geometry, in order; empty: none.
  const std::vector<PlannedLaunch> &launches(const std::string &kernel, const Geometry &geometry) const;

private:
  struct PlannedShape {
    Geometry geometry;
    std::vector<PlannedLaunch> launches;
  };
  std::map<std::string, std::vector<PlannedShape>> kernels;
};

} // namespace r3
