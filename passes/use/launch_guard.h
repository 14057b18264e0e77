// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded launch dimensions in the host's launch stubs.
#ifndef R3_USE_LAUNCH_GUARD_H
#define R3_USE_LAUNCH_GUARD_H

#include "use/version.h"

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace r3 {

/// What happens to a kernel's launches that have the guard of both.
struct LaunchChange {
  std::optional<LaunchRule> rule;       ///< other launch dimensions
  std::optional<KernelVersion> version; ///< other device code
};

/// Makes the launch stub of Kernel (mangled device name) change the launches that it should; any other one
/// stays what the application asked for. Returns why that can't be done, or nothing.
std::string guardLaunches(llvm::Module &Host, llvm::StringRef Kernel, const LaunchChange &Change);

} // namespace r3

#endif
