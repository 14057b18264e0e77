// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// nvcc -dlink: link device code alone, into an object that any host linker takes beside the others.
#ifndef R3_WRAPPERS_DEVICE_LINK_H
#define R3_WRAPPERS_DEVICE_LINK_H

#include "nvcc_command.h"

#include <string>
#include <vector>

namespace r3 {

/// Becomes clang's linker wrapper, with keepRegistration in the place of its host linker.
[[noreturn]] void linkDeviceCode(const std::string &Compiler, const ClangCommand &Command);

/// The name under which the wrapper stands in for the host linker.
constexpr const char *KeepRegistrationProgram = "r3-keep-registration";

/// Takes a host linker's command and leaves, as its output, only the objects that clang's linker wrapper
/// made: the device image and its registration. Returns the exit status.
int keepRegistration(const std::vector<std::string> &LinkerArguments);

} // namespace r3

#endif
