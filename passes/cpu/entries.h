// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions that libr3cpu calls, one a kernel, and the table that lists them
// (record_runtime/cpu/module_abi.h).
#ifndef R3_PASSES_CPU_ENTRIES_H
#define R3_PASSES_CPU_ENTRIES_H

#include "cpu/host_module.h"
#include "cpu/shared_memory.h"

#include "llvm/ADT/DenseSet.h"

namespace r3::cpu {

struct KernelParameter {
  uint64_t Offset;
  uint64_t Size;
};

/// A kernel as the engine runs it.
struct Entry {
  std::string Name;
  llvm::Function *Function;
  bool Fiber;
  uint64_t StaticShared;
  uint32_t MaxThreads;
  std::vector<KernelParameter> Parameters;
};

/// Makes the entry of `K`: of fiber form if it may suspend, else a loop over the block's threads.
Entry makeEntry(HostModule &Host, const Kernel &K, bool Suspends, uint64_t StaticShared);

/// Adds the table of entries and variables, the module's one visible symbol.
void addModuleTable(HostModule &Host, llvm::ArrayRef<Entry> Entries);

} // namespace r3::cpu

#endif
