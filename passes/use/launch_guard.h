// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Guarded launch dimensions in the host's launch stubs.
#ifndef R3_USE_LAUNCH_GUARD_H
#define R3_USE_LAUNCH_GUARD_H

#include "use/profile.h"

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Module;
}

namespace r3 {

/// Makes the launch stub of Kernel (mangled device name) follow the rule: a launch that the guard admits gets
/// the rule's dimensions, any other one what the application asked for. Returns why that can't be done, or
/// nothing.
std::string guardLaunches(llvm::Module &Host, llvm::StringRef Kernel, const LaunchRule &Rule);

} // namespace r3

#endif
