// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM's command-line options, which are global to a process.
#ifndef R3_PASSES_REPLAY_LLVM_OPTIONS_H
#define R3_PASSES_REPLAY_LLVM_OPTIONS_H

#include "llvm/Support/Error.h"

#include <string>
#include <vector>

namespace r3 {

/// Sets these options for the rest of the process's life. The first call decides; a later call with another
/// set is R3_BAD_REQUEST, because LLVM cannot take an option back.
llvm::Error applyLLVMOptions(const std::vector<std::string> &Options);

/// Gives what applyLLVMOptions set LLVM's own values again, or those of Own, which the process was started
/// with: for a build that goes on without a kernel whose code could not be made. The next call decides anew.
void dropLLVMOptions(const std::vector<std::string> &Own);

} // namespace r3

#endif
