// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_PASSES_CPU_SHARED_MEMORY_H
#define R3_PASSES_CPU_SHARED_MEMORY_H

#include "cpu/host_module.h"

#include "llvm/ADT/DenseMap.h"

namespace r3::cpu {

/// Bytes of static shared memory that each kernel's body needs.
using SharedSizes = llvm::DenseMap<const llvm::Function *, uint64_t>;

/// Gives every `__shared__` variable its place in the block's buffer and replaces its uses by that address.
/// Variables of kernels that have none in common may overlap. Dynamic ones all stand at the buffer's dynamic
/// part.
SharedSizes placeSharedMemory(HostModule &Host);

} // namespace r3::cpu

#endif
