// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a symbol's name between the source and the device code.
#ifndef R3_COMMON_NAMES_H
#define R3_COMMON_NAMES_H

#include "llvm/ADT/StringRef.h"

#include <string>

namespace r3 {

/// A name without the id of its unit, with which clang ends names of externalised statics under -fgpu-rdc.
llvm::StringRef withoutUnitId(llvm::StringRef Name);

/// A name as LLVM's NVPTX back end writes it, where PTX cannot spell it.
std::string ptxName(llvm::StringRef Name);

} // namespace r3

#endif
