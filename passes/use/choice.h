// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which entry of a profile a kernel of this compilation gets.
#ifndef R3_USE_CHOICE_H
#define R3_USE_CHOICE_H

#include "use/profile.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace llvm {
class Function;
}

namespace r3 {

/// What the user says about the device that the program will run on.
struct UseSettings {
  std::string profilePath; ///< empty: no tuned build
  std::string deviceName;  ///< exact name, "cpu", or empty: any of the architecture

  bool forCpu() const { return deviceName == "cpu"; }

  /// From R3_USE and R3_USE_DEVICE, which the wrapper sets.
  static UseSettings fromEnvironment();
};

enum class Match {
  Tuned,     ///< there is an entry
  NoEntry,   ///< the profile does not name the kernel
  NoDevice,  ///< none of its entries is for this architecture and kind of device
  HasChanged ///< all of those have another digest
};

struct Choice {
  Match match;
  const ProfileEntry *entry = nullptr;
};

/// Bitcode is the captured module; it is read again for the digest of each kernel that the profile names.
Choice chooseEntry(const Profile &From, const UseSettings &Settings, llvm::StringRef Kernel,
                   llvm::StringRef Architecture, llvm::ArrayRef<uint8_t> Bitcode);

} // namespace r3

#endif
