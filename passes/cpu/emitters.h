// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One emitter a family of NVPTX intrinsics. Each gets the call and the intrinsic's name without "llvm.nvvm.",
// and answers nothing if the intrinsic is not of its family, else the value that replaces the call (null for
// none).
#ifndef R3_PASSES_CPU_EMITTERS_H
#define R3_PASSES_CPU_EMITTERS_H

#include "cpu/host_module.h"

#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Instructions.h"

#include <optional>

namespace r3::cpu {

using Emitted = std::optional<llvm::Value *>;

/// Thread and block ids, lane ids and masks, clocks.
Emitted emitSpecialRegister(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
/// Arithmetic, conversions, bit operations, approximations.
Emitted emitArithmetic(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
/// Atomics with a scope, fences, loads through caches, address space questions.
Emitted emitMemory(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
/// Barriers, warp operations and what else suspends a thread.
Emitted emitSynchronisation(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);

/// The same for AMDGCN, the name without "llvm.amdgcn.".
Emitted emitAmdgcnPlace(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
Emitted emitAmdgcnWave(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
Emitted emitAmdgcnMemory(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
Emitted emitAmdgcnArithmetic(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);
/// llvm.read_register of "exec".
Emitted emitExecMask(llvm::IRBuilder<> &, llvm::CallInst &);
/// Functions of ROCm's ockl that need the runtime: printf, malloc.
Emitted emitOcklCall(llvm::IRBuilder<> &, llvm::CallInst &, llvm::StringRef Name);

/// The hidden parameter of the function that `Call` stands in.
llvm::Value *hidden(llvm::CallInst &Call, HiddenParameter Which);

/// Calls a function of libr3cpu.
llvm::CallInst *callEngine(llvm::IRBuilder<> &, llvm::StringRef Name, llvm::Type *Result,
                           llvm::ArrayRef<llvm::Value *> Arguments);

/// What PTX calls an atomic operation, on elements of a kind: s, u, b or f.
std::optional<llvm::AtomicRMWInst::BinOp> atomicOperation(llvm::StringRef Name, char Kind);

/// The value behind a fence: an operation that names its rounding never becomes part of a fused one, whatever
/// the code generator may contract.
llvm::Value *unfused(llvm::IRBuilder<> &, llvm::Value *);

/// The thread's number in its block, x fastest.
llvm::Value *emitLinearThread(llvm::IRBuilder<> &, llvm::CallInst &Call);

} // namespace r3::cpu

#endif
