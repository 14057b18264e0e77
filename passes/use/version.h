// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A second version of a kernel in a tuned build: its code takes values of a launch for granted, and the
// host's launch stub chooses it for launches that have them.
#ifndef R3_USE_VERSION_H
#define R3_USE_VERSION_H

#include "replay/request.h"
#include "use/profile.h"

namespace llvm {
class Function;
}

namespace r3 {

struct KernelVersion {
  std::string name; ///< symbol of the device code
  Specialisation values;
  std::optional<uint64_t> threads; ///< most threads a block that its launch bounds allow
  uint64_t shared;                 ///< most dynamic shared bytes that a kernel gets without being asked for
};

/// The version of a kernel (of the unit as captured) that an entry asks for. Equal values give it equal
/// names, other ones other names, in every unit.
KernelVersion versionFor(const ProfileEntry &Entry, llvm::Function &Kernel);

SpecialiseRequest specialiseRequest(llvm::StringRef Kernel, const KernelVersion &Version);

/// How the device compilation tells the host compilation.
llvm::json::Value toJSON(const KernelVersion &Version);
std::optional<KernelVersion> parseVersion(const llvm::json::Value &Value);

} // namespace r3

#endif
