// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Read-only tables: small memory whose content a kernel's code takes for constants once the kernel itself has
// found that it still holds it.
#ifndef R3_PASSES_REPLAY_TABLES_H
#define R3_PASSES_REPLAY_TABLES_H

#include "replay/request.h"
#include "replay/result.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/IR/Module.h"

#include <string>
#include <vector>

namespace r3 {

/// Bytes of the largest table. The guard reads it whole.
constexpr uint64_t MaxTableBytes = 1024;

/// A variable, or bytes behind a pointer argument, that no launch of the kernel can change before it reads
/// them, and that the guard may read wherever it stands.
struct Table {
  std::string variable;  ///< empty: behind an argument
  unsigned argument = 0; ///< index
  uint64_t offset = 0;   ///< behind that argument
  std::string bytes;     ///< content
};

/// "@name=<hex>", or "2+16=<hex>": sixteen bytes behind what argument 2 points to.
llvm::Expected<Table> parseTable(llvm::StringRef Text);
std::string textOf(const Table &Of);

/// report: {"variables": [{"name", "size"}], "memory": [{"argument", "offset", "size"}], "values": [index]}:
/// what may be a table of the kernel, and the arguments that hold a struct without pointers.
llvm::Expected<Product> findTables(llvm::ArrayRef<uint8_t> Bitcode, const KernelRequest &Request);

/// Puts a guard before the code that reads the tables, which is there twice from then on: for their contents,
/// and for all others. R3_BAD_REQUEST for what is none of the kernel's tables.
llvm::Error fixTables(llvm::Module &M, llvm::Function &Kernel, llvm::ArrayRef<Table> Tables);

} // namespace r3

#endif
