// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The units of relocatable device code as the one module that their device link makes.
#ifndef R3_PASSES_REPLAY_LINK_H
#define R3_PASSES_REPLAY_LINK_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"

namespace r3 {

/// Bitcode of all units in one. Units lie one after another in Bitcode, as long as the request says.
///
/// Variables that are private to a unit get names that no other unit's have where two would meet, so that
/// nobody takes one for the other. report: {"undefined": [name, …]}: device functions and variables that no
/// unit defines.
llvm::Expected<Product> linkUnits(llvm::ArrayRef<uint8_t> Bitcode, const LinkRequest &Request);

} // namespace r3

#endif
