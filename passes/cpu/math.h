// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Device math (libdevice's __nv_ functions) by the host's own math library.
#ifndef R3_PASSES_CPU_MATH_H
#define R3_PASSES_CPU_MATH_H

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

namespace r3::cpu {

/// Whether the host has an equal of libdevice's `Name`. The others keep libdevice's own body.
bool isHostMath(llvm::StringRef Name);

/// The host's value for a call of a function that isHostMath names. Null if the call returns nothing.
llvm::Value *emitHostMath(llvm::IRBuilder<> &Builder, llvm::CallInst &Call);

} // namespace r3::cpu

#endif
