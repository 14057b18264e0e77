// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profile of docs/profile-format.md, as far as a build needs it.
#ifndef R3_USE_PROFILE_H
#define R3_USE_PROFILE_H

#include "replay/tables.h"

#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace r3 {

using Dim3 = std::array<uint32_t, 3>;

/// Launch dimensions that the application asked for.
struct LaunchShape {
  Dim3 grid;
  Dim3 block;
  uint64_t shared; ///< dynamic shared bytes

  bool operator==(const LaunchShape &Other) const {
    return grid == Other.grid && block == Other.block && shared == Other.shared;
  }
};

/// A block for the launches of one shape.
struct ShapeBlock {
  LaunchShape shape;
  Dim3 block;
};

/// A scalar argument and the values, as its bytes in memory order, for which a rule holds.
struct ScalarGuard {
  uint32_t index;
  uint32_t size;
  std::vector<std::string> values;
};

/// Other launch dimensions for the launches that the guard admits.
struct LaunchRule {
  Dim3 block;
  std::optional<Dim3> grid; ///< none: derived per axis
  std::vector<LaunchShape> shapes;
  std::vector<ScalarGuard> scalars;
  std::vector<ShapeBlock> byShape; ///< shapes with a block of their own
};

/// A scalar argument, or a struct passed by value, and its one value, as its bytes in memory order.
struct ArgumentConstant {
  uint32_t index;
  std::string bytes;
};

/// What a second version of a kernel takes for granted, so that it serves such launches alone.
struct Specialisation {
  std::vector<ArgumentConstant> arguments;
  std::optional<Dim3> block; ///< as launched, under the entry's launch rule
  std::optional<Dim3> grid;
  std::vector<Table> tables; ///< the version itself looks whether they hold
};

/// One tuned kernel on one device.
struct ProfileEntry {
  std::string name;
  std::string digest;
  std::string device;
  std::string architecture;
  std::optional<std::string> pipeline; ///< none: the unit's own
  std::map<std::string, std::string> attributes;
  unsigned codegenLevel;
  std::map<std::string, std::string> unitOptions; ///< module-scope values
  std::optional<LaunchRule> launch;
  llvm::json::Value launchText = nullptr;    ///< the rule as the profile has it
  std::optional<Specialisation> specialised; ///< pipeline, attributes and rule are those of a second version
};

struct Profile {
  std::string path;
  std::string sha256;
  std::vector<ProfileEntry> entries;
};

/// Fails, with one sentence, for what is no profile, a newer one, or a damaged one.
llvm::Expected<Profile> readProfile(const std::string &Path);

/// Nothing where the value is no launch rule.
std::optional<LaunchRule> parseLaunchRule(const llvm::json::Value &Value);

/// Nothing where the value is no specialisation.
std::optional<Specialisation> parseSpecialisation(const llvm::json::Value &Value);

/// The block that a launch gets under a rule.
Dim3 blockUnder(const LaunchRule &Rule, const LaunchShape &Asked);

/// The grid that a launch gets under a rule.
Dim3 gridUnder(const LaunchRule &Rule, const LaunchShape &Asked);

} // namespace r3

#endif
