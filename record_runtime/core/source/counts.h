// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "r3core/recorder.h"

#include <map>
#include <mutex>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace r3 {

/// How many launches of one kernel and shape are kept, and when.
struct Quota {
  std::uint64_t launches, heldOut, skip;
  std::uint64_t every; ///< distance of recorded launches; 0: it grows
};

/// Counts of one kernel with one geometry. Guarded by its kernel's lock.
class Shape {
public:
  explicit Shape(const Geometry &geometry) : geometry(geometry) {}

  /// Whether launch number `count` - 1 is one to record, and whether it is held out.
  bool wantsRecording(const Quota &quota) const;
  bool nextIsHeldOut(const Quota &quota) const;
  /// Whether this launch's time should be taken: all of the first, then a sample.
  bool wantsTime() const;
  /// A recording was begun: the next one comes later.
  void planNext(const Quota &quota);
  /// The recording failed for a reason that won't come again: the next launch is taken in its stead.
  void planAtOnce() { next = 0; }
  void addTime(std::uint64_t nanoseconds);
  /// Time of all launches, scaled from those whose time was taken.
  std::uint64_t totalTime() const;
  /// Median of the first times, 0 without any: spared by what only some launches pay for.
  std::uint64_t medianTime() const;

  const Geometry geometry;
  std::uint64_t launches = 0;
  std::uint64_t timed = 0, timedSum = 0;
  std::uint64_t kept = 0, keptHeldOut = 0;
  std::uint64_t next = 0; // launch of this shape to record next
  bool counted = false;   // among its kernel's recorded shapes

private:
  std::vector<std::uint64_t> firstTimes;
};

struct GeometryHash {
  std::size_t operator()(const Geometry &geometry) const;
};

/// Counts of one kernel.
class Kernel {
public:
  /// A kernel launched with more geometries than this has the rest counted together.
  static constexpr std::size_t ShapeLimit = 512;
  /// Of how many geometries launches are recorded.
  static constexpr std::size_t RecordedShapeLimit = 16;

  Kernel(const KernelDescription &description, bool selected, SnapshotKind snapshot)
      : description(description), selected(selected), snapshot(snapshot) {}

  /// Finds or begins the counts of a geometry. Its lock must be held.
  Shape &shape(const Geometry &geometry);

  const KernelDescription description;
  const bool selected; ///< its name is one that the user asked for

  std::mutex mutex; // of all below
  SnapshotKind snapshot;
  bool wholeArenaChecked = false; ///< the first epilogue covered all memory
  std::uint64_t launches = 0, recorded = 0;
  std::map<std::string, std::uint64_t> refusals;
  std::unordered_map<Geometry, Shape, GeometryHash> shapes;
  Shape *lastShape = nullptr; ///< most kernels are launched with one geometry, again and again
  std::size_t recordedShapes = 0;
  std::unordered_set<std::string> identities;
  bool changed = false; ///< since its last document
};

} // namespace r3
