// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "counts.h"

#include <algorithm>

using namespace r3;

namespace {

constexpr std::uint64_t AlwaysTimed = 256;
constexpr std::uint64_t TimedEvery = 16;

/// Ordinals grow by this factor, so that a handful of launches spreads over a run of unknown length.
std::uint64_t growth(const Quota &quota) {
  std::uint64_t kept = quota.launches + quota.heldOut;
  return kept <= 4 ? 8 : kept <= 8 ? 4 : 2;
}

} // namespace

bool Shape::wantsRecording(const Quota &quota) const {
  return kept + keptHeldOut < quota.launches + quota.heldOut && launches - 1 >= next;
}

/// The second kept launch is the first held-out one, so that a short run has both kinds.
bool Shape::nextIsHeldOut(const Quota &quota) const {
  if (keptHeldOut >= quota.heldOut)
    return false;
  return kept > keptHeldOut || kept >= quota.launches;
}

bool Shape::wantsTime() const { return launches <= AlwaysTimed || launches % TimedEvery == 0; }

void Shape::planNext(const Quota &quota) {
  std::uint64_t current = launches - 1;
  next = quota.every ? current + quota.every : std::max(current + 1, current * growth(quota));
}

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
