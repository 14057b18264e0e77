// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A lowered module (passes/cpu) in parts, so that a tuned kernel can go through a pipeline of its own and be
// linked back: the cpu device's counterpart of replace.h. Variables stay in the part that has the module's
// table; all parts know them by one hidden name.
#ifndef R3_USE_HOST_PARTS_H
#define R3_USE_HOST_PARTS_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>

namespace r3 {

/// The module without the code of one kernel, whose entry its table still names.
llvm::Expected<Product> hostWithout(llvm::ArrayRef<uint8_t> Lowered, const KernelRequest &Request);

/// The kernel's entry alone. Lowered holds no other kernel.
llvm::Expected<Product> hostAlone(llvm::ArrayRef<uint8_t> Lowered, const KernelRequest &Request);

} // namespace r3

#endif
