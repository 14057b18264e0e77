// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NVPTX and AMDGCN intrinsics and the device library's calls in a host module, replaced by host code and
// calls of libr3cpu.
#ifndef R3_PASSES_CPU_INTRINSICS_H
#define R3_PASSES_CPU_INTRINSICS_H

#include "cpu/host_module.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/IR/IRBuilder.h"

namespace r3::cpu {

/// Replaces every device-only call; one that has no form on the host becomes a call that ends the launch with
/// a sentence. Returns the functions that may suspend their thread, by themselves or by what they call.
llvm::Expected<llvm::DenseSet<llvm::Function *>> lowerIntrinsics(HostModule &Host);

/// The address of field `Field` of the block's description.
llvm::Value *blockField(llvm::IRBuilderBase &Builder, llvm::Value *Block, unsigned Field,
                        unsigned Element = 0);

/// Loads a field of the block's description, which does not change while the block runs.
llvm::LoadInst *loadBlockField(llvm::IRBuilderBase &Builder, llvm::Value *Block, unsigned Field,
                               unsigned Element = 0);

/// Fields of r3cpu_block (record_runtime/cpu/module_abi.h), by index.
enum BlockField : unsigned {
  GridField,
  BlockExtentField,
  BlockIdField,
  DynamicSharedSizeField,
  SharedField,
  DynamicSharedField,
  StaticSharedSizeField,
  WorkerField,
  LaunchField,
  ImplicitArgumentsField,
  DispatchPacketField
};

} // namespace r3::cpu

#endif
