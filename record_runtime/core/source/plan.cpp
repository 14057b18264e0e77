// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plan.h"
#include "r3core/log.h"

#include <fstream>
#include <nlohmann/json.hpp>

using namespace r3;
using nlohmann::json;

namespace {

Dim3 triple(const json &list) { return {list.at(0), list.at(1), list.at(2)}; }

} // namespace

std::optional<Plan> Plan::read(const std::string &path) {
  Plan plan;
  try {
    std::ifstream file(path);
    json document = json::parse(file);
    for (const json &kernel : document.at("kernels"))
      for (const json &shape : kernel.at("shapes")) {
        PlannedShape planned;
        planned.geometry = {triple(shape.at("grid")), triple(shape.at("block")), shape.at("shared")};
        for (const json &launch : shape.at("launches"))
          planned.launches.push_back({launch.at("ordinal"), launch.at("held_out")});
        plan.kernels[kernel.at("name")].push_back(std::move(planned));
      }
  } catch (const std::exception &error) {
    message("the plan '%s' (R3_RECORD_PLAN) can't be read: %s; launches are chosen without it", path.c_str(),
            error.what());
    return std::nullopt;
  }
  return plan;
}

const std::vector<PlannedLaunch> &Plan::launches(const std::string &kernel, const Geometry &geometry) const {
  static const std::vector<PlannedLaunch> none;
  auto known = kernels.find(kernel);
  if (known != kernels.end())
    for (const PlannedShape &shape : known->second)
      if (shape.geometry == geometry)
        return shape.launches;
  return none;
}
