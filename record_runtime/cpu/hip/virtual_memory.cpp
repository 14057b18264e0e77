// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's virtual memory: addresses are reserved, memory is made, and mapped there.
#include "cudart/runtime.h"
#include "forward.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace r3::cpu;
using cudart::Error;
using cudart::remember;

namespace {

/// Memory without an address: an anonymous file.
struct MemoryHandle {
  int file;
  size_t size;
};

Error failed(bool good) { return remember(good ? cudart::Success : cudart::MemoryAllocation); }

} // namespace

R3CPU_EXPORT int hipMemAddressReserve(void **pointer, size_t size, size_t, void *wanted, unsigned long long) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | (wanted ? MAP_FIXED_NOREPLACE : 0);
  void *got = mmap(wanted, size, PROT_NONE, flags, -1, 0);
  if (got == MAP_FAILED) // as with HIP, the address is a wish
    got = mmap(nullptr, size, PROT_NONE, flags & ~MAP_FIXED_NOREPLACE, -1, 0);
  *pointer = got == MAP_FAILED ? nullptr : got;
  return failed(*pointer);
}

R3CPU_EXPORT int hipMemAddressFree(void *pointer, size_t size) { return failed(munmap(pointer, size) == 0); }

R3CPU_EXPORT int hipMemGetAllocationGranularity(size_t *granularity, const void *, int) {
  *granularity = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return remember(cudart::Success);
}

R3CPU_EXPORT int hipMemCreate(MemoryHandle **handle, size_t size, const void *, unsigned long long) {
  int file = memfd_create("r3cpu-memory", MFD_CLOEXEC);
  bool good = file >= 0 && ftruncate(file, static_cast<off_t>(size)) == 0;
  if (!good && file >= 0)
    close(file);
  *handle = good ? new MemoryHandle{file, size} : nullptr;
  return failed(good);
}

// Maps of it stay.
R3CPU_EXPORT int hipMemRelease(MemoryHandle *handle) {
  close(handle->file);
  delete handle;
  return remember(cudart::Success);
}

R3CPU_EXPORT int hipMemMap(void *pointer, size_t size, size_t offset, MemoryHandle *handle,
                           unsigned long long) {
  if (offset + size > handle->size)
    return remember(cudart::InvalidValue);
  return failed(mmap(pointer, size, PROT_NONE, MAP_SHARED | MAP_FIXED, handle->file,
                     static_cast<off_t>(offset)) != MAP_FAILED);
}

R3CPU_EXPORT int hipMemUnmap(void *pointer, size_t size) {
  return failed(mmap(pointer, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1,
                     0) != MAP_FAILED);
}

/// hipMemAccessDesc: whose access, and which (0 none, 1 read, 3 read and write).
struct AccessDescription {
  int location_type;
  int location;
  int flags;
};

R3CPU_EXPORT int hipMemSetAccess(void *pointer, size_t size, const AccessDescription *access, size_t count) {
  int protection = PROT_NONE;
  for (size_t i = 0; i < count; ++i)
    protection |= (access[i].flags & 1 ? PROT_READ : 0) | (access[i].flags & 2 ? PROT_WRITE : 0);
  return failed(mprotect(pointer, size, protection) == 0);
}
