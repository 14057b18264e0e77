// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_CAPTURE_DIAGNOSTICS_H
#define R3_CAPTURE_DIAGNOSTICS_H

#include "llvm/ADT/Twine.h"

namespace llvm {
class Module;
}

namespace r3 {

/// Says that M's device code goes into the object without its IR, and why. The build goes on, unless
/// R3_STRICT=1.
void reportNotEmbedded(const llvm::Module &M, const llvm::Twine &Reason);

} // namespace r3

#endif
