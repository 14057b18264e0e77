// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "pinned_pages.h"

#include <sys/mman.h>

using namespace r3::cuda;

namespace {

void *pointer(std::uint64_t address) { return reinterpret_cast<void *>(address); }

/// Reserved addresses with nothing behind them.
bool reserveAgain(std::uint64_t address, std::uint64_t size, int placement) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | placement;
  void *got = mmap(pointer(address), size, PROT_NONE, flags, -1, 0);
  if (got == pointer(address))
    return true;
  if (got != MAP_FAILED)
    munmap(got, size); // a kernel that knows no MAP_FIXED_NOREPLACE
  return false;
}

} // namespace

bool PinnedPages::reserve(std::uint64_t base, std::uint64_t size) {
  return driver().cuMemHostRegister_v2 && driver().cuMemHostUnregister &&
         driver().cuMemHostGetDevicePointer_v2 && reserveAgain(base, size, MAP_FIXED_NOREPLACE);
}

bool PinnedPages::map(std::uint64_t address, std::uint64_t size) {
  if (addressesDiffer || mprotect(pointer(address), size, PROT_READ | PROT_WRITE) != 0)
    return false;
  madvise(pointer(address), size, MADV_DONTFORK); // a child's copy would part the parent from its device
  if (driver().cuMemHostRegister_v2(pointer(address), size,
                                    CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP) ==
      CUDA_SUCCESS) {
    CUdeviceptr onDevice = 0;
    if (driver().cuMemHostGetDevicePointer_v2(&onDevice, pointer(address), 0) == CUDA_SUCCESS &&
        onDevice == address)
      return true;
    addressesDiffer = true;
    driver().cuMemHostUnregister(pointer(address));
  }
  reserveAgain(address, size, MAP_FIXED);
  return false;
}

void PinnedPages::unmap(std::uint64_t address, std::uint64_t size) {
  driver().cuMemHostUnregister(pointer(address));
  reserveAgain(address, size, MAP_FIXED);
}
