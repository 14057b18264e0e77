// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "plan.h"
#include "r3core/recorder.h"
#include "scalar_classes.h"

#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace r3 {

/// What a launch is recorded for.
enum class Use {
  None,
  Search,
  HeldOut, ///< no search may see it
  Extra    ///< for a search, past the quota: of its scalars nothing else is kept
};

/// How many launches of one kernel and shape are kept, and when.
struct Quota {
  std::uint64_t launches, heldOut, skip;
  std::uint64_t every; ///< distance of recorded launches; 0: it grows
};

/// Counts of one kernel with one geometry. Guarded by its kernel's lock.
class Shape {
public:
  explicit Shape(const Geometry &geometry) : geometry(geometry) {}

  /// Whether this launch, which is counted already, is one to record, and for what.
  Use wanted(const Quota &quota, const std::vector<Parameter> &parameters, const Arguments &arguments);
  /// From here on the plan alone decides; it may be empty.
  void follow(const std::vector<PlannedLaunch> &launches);
  /// Whether this launch's time should be taken: all of the first, then a sample.
  bool wantsTime() const;
  /// A recording was begun: the next one comes later.
  void begun(Use use, const Quota &quota);
  /// The launch didn't get into the pack after all.
  void giveBack(Use use);
  /// The recording failed for a reason that won't come again: the next launch is taken in its stead.
  void planAtOnce();
  void addTime(std::uint64_t nanoseconds);
  /// Time of all launches, scaled from those whose time was taken.
  std::uint64_t totalTime() const;
  /// Median of the first times, 0 without any: spared by what only some launches pay for.
  std::uint64_t medianTime() const;

  const Geometry geometry;
  std::uint64_t launches = 0;
  std::uint64_t timed = 0, timedSum = 0;
  bool counted = false;        // among its kernel's recorded shapes
  std::optional<bool> claimed; // by this process, where ranks share the work; nothing: not decided yet

private:
  Use planned();
  Use sampled(const Quota &quota, ScalarClasses::Class &current);
  bool lessKnownExists(Use use, const ScalarClasses::Class &current) const;

  std::uint64_t kept = 0, keptHeldOut = 0;
  std::uint64_t next = 0;   // launch of this shape to record next
  std::uint64_t waited = 0; // launches since then that were left to a class of which less is recorded
  std::uint64_t extra = 0;  // recorded past the quota
  std::optional<std::vector<PlannedLaunch>> plan;
  std::size_t nextPlanned = 0;
  ScalarClasses classes;
  ScalarClasses::Class *currentClass = nullptr; // between wanted() and begun()
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
  std::uint64_t underWay = 0; ///< launches between their prologue and their epilogue
  std::map<std::string, std::uint64_t> refusals;
  std::unordered_map<Geometry, Shape, GeometryHash> shapes;
  Shape *lastShape = nullptr; ///< most kernels are launched with one geometry, again and again
  std::size_t recordedShapes = 0;
  std::unordered_set<std::string> identities;
  bool changed = false; ///< since its last document
};

} // namespace r3
