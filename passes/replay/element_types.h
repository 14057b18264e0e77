// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kind of numbers lie behind a pointer, as the code's own loads and stores say.
#ifndef R3_PASSES_REPLAY_ELEMENT_TYPES_H
#define R3_PASSES_REPLAY_ELEMENT_TYPES_H

#include "llvm/IR/Module.h"

#include <optional>
#include <string>

namespace r3 {

/// Makes memory accesses visible on their pointers: promotes stack slots and inlines small functions.
void exposeAccesses(llvm::Module &M);

/// The one scalar type ("float", "double", "i32", "ptr", …) accessed through the argument's pointer, or
/// through the pointers in a struct that is passed by value; nullopt if there is none or more than one.
std::optional<std::string> elementTypeOf(llvm::Argument &Parameter);

/// The same for a variable, whose declared type serves where no code accesses it.
std::optional<std::string> elementTypeOf(llvm::GlobalVariable &Variable);

/// Whether the kernel stores through the argument and can't read what it points to through it.
bool isOnlyWritten(llvm::Argument &Parameter);

} // namespace r3

#endif
