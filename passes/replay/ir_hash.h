// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Identity of optimised IR: equal hashes need no second code generation or measurement.
#ifndef R3_PASSES_REPLAY_IR_HASH_H
#define R3_PASSES_REPLAY_IR_HASH_H

#include "llvm/IR/Module.h"

#include <string>

namespace r3 {

/// SHA-256, in hex, of the module without debug information, local names, source name and compiler version.
std::string irHash(const llvm::Module &M);

/// Takes what irHash leaves out off the module itself.
void dropNoise(llvm::Module &M);

} // namespace r3

#endif
