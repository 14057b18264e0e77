// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counts.h"

#include <algorithm>

using namespace r3;

namespace {

constexpr std::uint64_t AlwaysTimed = 256;
constexpr std::uint64_t TimedEvery = 16;
/// Launches past the quota, for classes of scalars of which it had none.
constexpr std::uint64_t ExtraLimit = 4;
/// Launches of the shape that a due recording waits for another class.
constexpr std::uint64_t LongestWait = 16;

/// Ordinals grow by this factor, so that a handful of launches spreads over a run of unknown length.
std::uint64_t growth(const Quota &quota) {
  std::uint64_t kept = quota.launches + quota.heldOut;
  return kept <= 4 ? 8 : kept <= 8 ? 4 : 2;
}

} // namespace

Use Shape::wanted(const Quota &quota, const std::vector<Parameter> &parameters, const Arguments &arguments) {
  if (plan)
    return planned();
  // Once no class can earn a launch of its own, scalars aren't looked at any more.
  bool full = kept + keptHeldOut >= quota.launches + quota.heldOut;
  if (full && (quota.every || extra >= ExtraLimit || !classes.distinguishes()))
    return Use::None;
  currentClass = &classes.count(parameters, arguments);
  return sampled(quota, *currentClass);
}

Use Shape::planned() {
  if (nextPlanned >= plan->size() || launches - 1 < (*plan)[nextPlanned].ordinal)
    return Use::None;
  return (*plan)[nextPlanned].heldOut ? Use::HeldOut : Use::Search;
}

Use Shape::sampled(const Quota &quota, ScalarClasses::Class &current) {
  if (kept + keptHeldOut >= quota.launches + quota.heldOut) {
    // A value that comes again and of which nothing is kept must not stay unknown to a search.
    bool unknown =
        !quota.every && quota.launches && current.launches > 1 && !current.kept && classes.all().size() > 1;
    return unknown && extra < ExtraLimit ? Use::Extra : Use::None;
  }
  if (launches - 1 < next)
    return Use::None;
  // The second kept launch is the first held-out one, so that a short run has both kinds.
  bool heldOutNext = keptHeldOut < quota.heldOut && (kept > keptHeldOut || kept >= quota.launches);
  Use use = heldOutNext ? Use::HeldOut : Use::Search;
  if (!quota.every && waited < LongestWait && lessKnownExists(use, current)) {
    ++waited;
    return Use::None;
  }
  return use;
}

bool Shape::lessKnownExists(Use use, const ScalarClasses::Class &current) const {
  auto known = [use](const ScalarClasses::Class &each) {
    return use == Use::HeldOut ? each.keptHeldOut : each.kept;
  };
  return std::any_of(classes.all().begin(), classes.all().end(), [&](const ScalarClasses::Class &each) {
    return each.launches > 1 && known(each) < known(current);
  });
}

bool Shape::wantsTime() const { return launches <= AlwaysTimed || launches % TimedEvery == 0; }

void Shape::begun(Use use, const Quota &quota) {
  ++(use == Use::HeldOut ? keptHeldOut : use == Use::Extra ? extra : kept);
  if (plan) {
    ++nextPlanned;
    return;
  }
  ++(use == Use::HeldOut ? currentClass->keptHeldOut : currentClass->kept);
  std::uint64_t current = launches - 1;
  next = quota.every ? current + quota.every : std::max(current + 1, current * growth(quota));
  waited = 0;
}

void Shape::giveBack(Use use) {
  if (use != Use::Extra) // that one was the class's only chance
    --(use == Use::HeldOut ? keptHeldOut : kept);
}

void Shape::planAtOnce() {
  next = 0;
  nextPlanned -= nextPlanned > 0;
}

void Shape::follow(const std::vector<PlannedLaunch> &launches) { plan = launches; }

void Shape::addTime(std::uint64_t nanoseconds) {
  ++timed;
  timedSum += nanoseconds;
  if (firstTimes.size() < AlwaysTimed)
    firstTimes.push_back(nanoseconds);
}

std::uint64_t Shape::medianTime() const {
  if (firstTimes.empty())
    return 0;
  std::vector<std::uint64_t> sorted = firstTimes;
  std::sort(sorted.begin(), sorted.end());
  std::size_t middle = sorted.size() / 2;
  return sorted.size() % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

std::uint64_t Shape::totalTime() const {
  return timed ? std::uint64_t(double(timedSum) / double(timed) * double(launches)) : 0;
}

std::size_t GeometryHash::operator()(const Geometry &geometry) const {
  std::uint64_t hash = geometry.shared;
  for (std::uint32_t part : {geometry.grid.x, geometry.grid.y, geometry.grid.z, geometry.block.x,
                             geometry.block.y, geometry.block.z})
    hash = (hash ^ part) * 0x9e3779b97f4a7c15;
  return hash ^ hash >> 32;
}

Shape &Kernel::shape(const Geometry &geometry) {
  if (lastShape && lastShape->geometry == geometry)
    return *lastShape;
  auto known = shapes.find(geometry);
  if (known == shapes.end()) {
    Geometry counted = geometry;
    if (shapes.size() >= ShapeLimit)
      counted = {{0, 0, 0}, {0, 0, 0}, 0};
    known = shapes.try_emplace(counted, counted).first;
  }
  lastShape = &known->second; // elements of the map stay where they are
  return *lastShape;
}
