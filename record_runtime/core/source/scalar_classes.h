// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace r3 {

/// Tells launches of one kernel and geometry apart by their scalar arguments.
///
/// A scalar with a few values (a size, a level, a flag) makes classes. One that is ever another (a time, a
/// counter) makes none; from its ninth value on it is ignored, and the classes begin anew without it.
class ScalarClasses {
public:
  struct Class {
    std::vector<std::uint64_t> values;
    std::uint64_t launches = 0, kept = 0, keptHeldOut = 0;
  };

  /// Counts a launch; its class stays valid until the next call.
  Class &count(const std::vector<Parameter> &parameters, const Arguments &arguments);
  const std::vector<Class> &all() const { return classes; }
  /// Whether scalars still tell launches apart.
  bool distinguishes() const { return !tooMany && !scalars.empty(); }

private:
  static constexpr std::size_t ValueLimit = 8, ClassLimit = 16;
  struct Scalar {
    std::size_t index; // of the parameter
    std::vector<std::uint64_t> values;
  };

  void begin(const std::vector<Parameter> &parameters);
  void read(const std::vector<Parameter> &parameters, const Arguments &arguments);
  std::size_t find(const std::vector<Parameter> &parameters, const Arguments &arguments);
  bool takeIn(const std::vector<std::uint64_t> &values);
  void beginAnew();

  std::vector<Scalar> scalars;
  std::vector<Class> classes;
  std::vector<std::uint64_t> current;
  std::size_t last = 0; // most launches are like the one before
  bool begun = false, tooMany = false;
};

} // namespace r3
