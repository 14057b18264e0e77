// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tuned build tells the user: each sentence once a command, however many compilations it has.
#ifndef R3_USE_MESSAGES_H
#define R3_USE_MESSAGES_H

#include "llvm/ADT/Twine.h"

namespace llvm {
class Module;
}

namespace r3 {

/// A part of the profile that this build cannot take: a warning, with R3_STRICT=1 an error.
void warnOnce(const llvm::Module &M, const llvm::Twine &Sentence);

} // namespace r3

#endif
