// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel for some launches only: what is the same in all of them as constants in its code.
#ifndef R3_PASSES_REPLAY_SPECIALISE_H
#define R3_PASSES_REPLAY_SPECIALISE_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace r3 {

/// Bitcode of the module, which holds that kernel alone, with the request's values in place of scalar
/// arguments, of structs passed by value and of the launch dimensions that are read, and with its tables
/// (replay/tables.h). Parameters keep their layout. R3_BAD_REQUEST for an argument that is no such value of
/// that size.
llvm::Expected<Product> specialiseKernel(llvm::ArrayRef<uint8_t> Bitcode, const SpecialiseRequest &Request);

} // namespace r3

#endif
