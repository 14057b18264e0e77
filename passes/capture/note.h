// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ELF note of docs/binary-format.md.
#ifndef R3_CAPTURE_NOTE_H
#define R3_CAPTURE_NOTE_H

#include "capture/fat_binary.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Alignment.h"

#include <cstdint>

namespace r3 {

/// Bytes that a note points to; none where global is null.
struct NotedBytes {
  llvm::GlobalVariable *global = nullptr;
  uint64_t size = 0;
};

struct NoteContent {
  NotedBytes bitcode;
  NotedBytes json;
  bool tuned = false; ///< a profile was used
};

/// Puts Global into a section of R3's own, where no pass merges, moves or instruments it.
void makeOwnSection(llvm::GlobalVariable &Global, llvm::StringRef Section, llvm::Align Alignment);

/// Adds a note to .note.r3 that ties bitcode and JSON to the fat binary.
llvm::GlobalVariable *addNote(llvm::Module &M, const FatBinary &Binary, const NoteContent &Content);

} // namespace r3

#endif
