// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "scalar_classes.h"

#include <algorithm>
#include <cstring>

using namespace r3;

void ScalarClasses::begin(const std::vector<Parameter> &parameters) {
  begun = true;
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (parameters[i].isScalar && parameters[i].size <= sizeof(std::uint64_t))
      scalars.push_back({i, {}});
  beginAnew();
}

void ScalarClasses::beginAnew() {
  Class totals;
  for (const Class &each : classes) {
    totals.launches += each.launches;
    totals.kept += each.kept;
    totals.keptHeldOut += each.keptHeldOut;
  }
  classes.clear();
  last = 0;
  if (!distinguishes())
    classes.push_back(std::move(totals));
}

/// Keeps each scalar's values, and drops those that have too many. Says whether any was dropped.
bool ScalarClasses::takeIn(const std::vector<std::uint64_t> &values) {
  bool dropped = false;
  for (std::size_t i = values.size(); i-- > 0;) {
    std::vector<std::uint64_t> &known = scalars[i].values;
    if (std::find(known.begin(), known.end(), values[i]) != known.end())
      continue;
    known.push_back(values[i]);
    if (known.size() > ValueLimit) {
      scalars.erase(scalars.begin() + std::ptrdiff_t(i));
      dropped = true;
    }
  }
  return dropped;
}

void ScalarClasses::read(const std::vector<Parameter> &parameters, const Arguments &arguments) {
  current.assign(scalars.size(), 0);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    const Parameter &parameter = parameters[scalars[i].index];
    if (const void *value = arguments.value(scalars[i].index, parameter))
      std::memcpy(&current[i], value, parameter.size);
  }
}

std::size_t ScalarClasses::find(const std::vector<Parameter> &parameters, const Arguments &arguments) {
  read(parameters, arguments);
  if (last < classes.size() && classes[last].values == current)
    return last;
  if (takeIn(current)) {
    beginAnew();
    if (!distinguishes())
      return 0;
    read(parameters, arguments);
  }
  for (std::size_t i = 0; i < classes.size(); ++i)
    if (classes[i].values == current)
      return i;
  if (classes.size() == ClassLimit) {
    tooMany = true;
    beginAnew();
    return 0;
  }
  classes.push_back({current});
  return classes.size() - 1;
}

ScalarClasses::Class &ScalarClasses::count(const std::vector<Parameter> &parameters,
                                           const Arguments &arguments) {
  if (!begun)
    begin(parameters);
  last = distinguishes() ? find(parameters, arguments) : 0;
  ++classes[last].launches;
  return classes[last];
}
