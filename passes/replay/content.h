// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values from what memory holds.
#ifndef R3_PASSES_REPLAY_CONTENT_H
#define R3_PASSES_REPLAY_CONTENT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DataLayout.h"

namespace r3 {

/// Whether a value of that type has pointers in it, which mean nothing in another run.
bool holdsPointers(llvm::Type *T);

/// The value of a type that begins these bytes in memory; null for a type that LLVM can't read so.
llvm::Constant *constantFrom(llvm::Type *T, llvm::StringRef Bytes, const llvm::DataLayout &Layout);

} // namespace r3

#endif
