// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One module through one pipeline and code generation.
#ifndef R3_PASSES_REPLAY_COMPILE_H
#define R3_PASSES_REPLAY_COMPILE_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace r3 {

/// With the recorded options on recorded bitcode: the PTX that clang made, comments and the order of globals
/// aside.
llvm::Expected<Product> compileModule(llvm::ArrayRef<uint8_t> Bitcode, const CompileRequest &Request);

} // namespace r3

#endif
