// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/arena.h"

#include <sys/mman.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

using namespace r3;

bool HostPages::reserve(std::uint64_t base, std::uint64_t size) {
  void *wanted = reinterpret_cast<void *>(base);
  void *got =
      mmap(wanted, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED)
    return false;
  if (got == wanted)
    return true;
  munmap(got, size); // a kernel older than MAP_FIXED_NOREPLACE took the address as a hint
  return false;
}

bool HostPages::map(std::uint64_t address, std::uint64_t size) {
  return mprotect(reinterpret_cast<void *>(address), size, PROT_READ | PROT_WRITE) == 0;
}

void HostPages::unmap(std::uint64_t address, std::uint64_t size) {
  // A new mapping over the old gives the memory back and makes stale pointers fault.
  mmap(reinterpret_cast<void *>(address), size, PROT_NONE,
       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
}
