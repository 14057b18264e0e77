// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that recorded launches may reach lies in the arena; other memory is known, so that launches that
// reach it are not recorded.
#include "session.h"

#include "hip/abi.h"

using namespace r3::hip;
using r3::cpu::hip::Extent;
using r3::cpu::hip::PitchedPointer;

namespace {

constexpr std::size_t PitchAlignment = 256;

std::uint64_t number(const void *pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// From the arena, else by `real`, whose memory is then known as foreign.
template <typename Real> Error allocate(Session *session, void **pointer, std::size_t size, Real real) {
  if (!session || !pointer || !size)
    return real();
  Inside inside;
  OwnErrors errors;
  if (std::uint64_t address = session->memory().allocate(size)) {
    *pointer = reinterpret_cast<void *>(address);
    return errors.leave(Success);
  }
  Error result = real();
  if (result == Success)
    session->memory().addForeign(*pointer, size, "memory outside the recorder's range");
  return errors.leave(result);
}

/// Of rows * count; by `real` where that can't be.
template <typename Real>
Error allocateRows(void **pointer, std::size_t *pitch, std::size_t width, std::size_t rows, Real real) {
  std::size_t row = (width + PitchAlignment - 1) / PitchAlignment * PitchAlignment, size = 0;
  Session *session = Session::active();
  if (!session || !pitch || row < width || __builtin_mul_overflow(row, rows, &size))
    return real();
  bool isOurs = false;
  Error result = allocate(session, pointer, size, [&] {
    isOurs = true;
    return real();
  });
  if (result == Success && !isOurs)
    *pitch = row;
  return result;
}

Error release(Session *session, void *pointer, Error (*real)(void *)) {
  if (!session || !pointer)
    return callReal(real, pointer);
  if (!session->memory().owns(number(pointer))) {
    session->memory().removeForeign(pointer);
    return callReal(real, pointer);
  }
  if (session->isCapturingAny())
    return Success; // waiting would break the capture, and not waiting would free what is in use: keep it
  return session->pass([&] {
    OwnErrors errors;
    Error result = calls().hipDeviceSynchronize(); // as hipFree does
    if (result == Success && !session->memory().release(number(pointer)))
      result = InvalidValue;
    return errors.leave(result);
  });
}

/// Makes memory known that `call` gave at *pointer.
template <typename Call> Error foreign(void **pointer, std::size_t size, const char *reason, Call call) {
  Session *session = Session::active();
  Inside inside;
  Error result = call();
  if (session && result == Success)
    session->memory().addForeign(*pointer, size, reason);
  return result;
}

} // namespace

R3_HIP_EXPORT Error hipMalloc(void **pointer, std::size_t size) {
  static auto *real = next<Error(void **, std::size_t)>("hipMalloc");
  return allocate(Session::active(), pointer, size, [&] { return callReal(real, pointer, size); });
}

R3_HIP_EXPORT Error hipMallocAsync(void **pointer, std::size_t size, void *stream) {
  static auto *real = next<Error(void **, std::size_t, void *)>("hipMallocAsync");
  Session *session = Session::active();
  auto call = [&] { return callReal(real, pointer, size, stream); };
  if (session && session->isCapturing(stream))
    return foreign(pointer, size, "memory of a graph", call);
  return allocate(session, pointer, size, call);
}

R3_HIP_EXPORT Error hipMallocPitch(void **pointer, std::size_t *pitch, std::size_t width,
                                   std::size_t height) {
  static auto *real = next<Error(void **, std::size_t *, std::size_t, std::size_t)>("hipMallocPitch");
  return allocateRows(pointer, pitch, width, height,
                      [&] { return callReal(real, pointer, pitch, width, height); });
}

R3_HIP_EXPORT Error hipMemAllocPitch(void **pointer, std::size_t *pitch, std::size_t width,
                                     std::size_t height, unsigned element) {
  static auto *real =
      next<Error(void **, std::size_t *, std::size_t, std::size_t, unsigned)>("hipMemAllocPitch");
  return allocateRows(pointer, pitch, width, height,
                      [&] { return callReal(real, pointer, pitch, width, height, element); });
}

R3_HIP_EXPORT Error hipMalloc3D(PitchedPointer *memory, Extent extent) {
  static auto *real = next<Error(PitchedPointer *, Extent)>("hipMalloc3D");
  std::size_t rows = 0;
  auto call = [&] { return callReal(real, memory, extent); };
  if (!memory || __builtin_mul_overflow(extent.height, extent.depth, &rows))
    return call();
  Error result = allocateRows(&memory->pointer, &memory->pitch, extent.width, rows, call);
  if (result == Success)
    memory->xsize = extent.width, memory->ysize = extent.height;
  return result;
}

R3_HIP_EXPORT Error hipFree(void *pointer) {
  static auto *real = next<Error(void *)>("hipFree");
  return release(Session::active(), pointer, real);
}

R3_HIP_EXPORT Error hipFreeAsync(void *pointer, void *stream) {
  static auto *real = next<Error(void *, void *)>("hipFreeAsync");
  Session *session = Session::active();
  if (!session || !session->memory().owns(number(pointer))) {
    if (session)
      session->memory().removeForeign(pointer);
    return callReal(real, pointer, stream);
  }
  if (session->isCapturing(stream))
    return Success; // as with hipFree
  return session->pass([&] {
    OwnErrors errors;
    return errors.leave(session->memory().releaseInOrder(number(pointer), stream));
  });
}

/// Entries that give memory which recordings don't hold: what they take, by which names, and why.
#define R3_FOREIGN_MEMORY(NAME, PARAMETERS, ARGUMENTS, REASON)                                               \
  R3_HIP_EXPORT Error NAME PARAMETERS {                                                                      \
    static auto *real = next<Error PARAMETERS>(#NAME);                                                       \
    return foreign(pointer, size, REASON, [&] { return real ? real ARGUMENTS : NotSupported; });             \
  }
R3_FOREIGN_MEMORY(hipMallocManaged, (void **pointer, std::size_t size, unsigned flags),
                  (pointer, size, flags), "managed memory")
R3_FOREIGN_MEMORY(hipHostMalloc, (void **pointer, std::size_t size, unsigned flags), (pointer, size, flags),
                  "pinned host memory")
R3_FOREIGN_MEMORY(hipHostAlloc, (void **pointer, std::size_t size, unsigned flags), (pointer, size, flags),
                  "pinned host memory")
R3_FOREIGN_MEMORY(hipMallocHost, (void **pointer, std::size_t size), (pointer, size), "pinned host memory")
R3_FOREIGN_MEMORY(hipMemAllocHost, (void **pointer, std::size_t size), (pointer, size), "pinned host memory")
R3_FOREIGN_MEMORY(hipExtMallocWithFlags, (void **pointer, std::size_t size, unsigned flags),
                  (pointer, size, flags), "memory of hipExtMallocWithFlags")
R3_FOREIGN_MEMORY(hipMallocFromPoolAsync, (void **pointer, std::size_t size, void *pool, void *stream),
                  (pointer, size, pool, stream), "memory of the program's own pool")
R3_FOREIGN_MEMORY(hipMemAddressReserve,
                  (void **pointer, std::size_t size, std::size_t alignment, void *wanted,
                   unsigned long long flags),
                  (pointer, size, alignment, wanted, flags), "the program's own virtual memory mapping")

R3_HIP_EXPORT Error hipHostRegister(void *pointer, std::size_t size, unsigned flags) {
  static auto *real = next<Error(void *, std::size_t, unsigned)>("hipHostRegister");
  return foreign(&pointer, size, "registered host memory",
                 [&] { return callReal(real, pointer, size, flags); });
}

/// Entries that take it back.
#define R3_FOREIGN_RELEASE(NAME, PARAMETERS, ARGUMENTS)                                                      \
  R3_HIP_EXPORT Error NAME PARAMETERS {                                                                      \
    static auto *real = next<Error PARAMETERS>(#NAME);                                                       \
    if (Session *session = Session::active())                                                                \
      session->memory().removeForeign(pointer);                                                              \
    Inside inside;                                                                                           \
    return real ? real ARGUMENTS : NotSupported;                                                             \
  }
R3_FOREIGN_RELEASE(hipHostFree, (void *pointer), (pointer))
R3_FOREIGN_RELEASE(hipFreeHost, (void *pointer), (pointer))
R3_FOREIGN_RELEASE(hipHostUnregister, (void *pointer), (pointer))
R3_FOREIGN_RELEASE(hipMemAddressFree, (void *pointer, std::size_t size), (pointer, size))

/// Ranges are those of the program's allocations, not of the granules that they share.
R3_HIP_EXPORT Error hipMemGetAddressRange(void **base, std::size_t *size, void *pointer) {
  static auto *real = next<Error(void **, std::size_t *, void *)>("hipMemGetAddressRange");
  Session *session = Session::active();
  auto allocation = session ? session->memory().find(number(pointer)) : std::nullopt;
  if (!allocation)
    return callReal(real, base, size, pointer);
  if (base)
    *base = reinterpret_cast<void *>(allocation->address);
  if (size)
    *size = allocation->size;
  return Success;
}

R3_HIP_EXPORT Error hipDeviceReset() {
  static auto *real = next<Error()>("hipDeviceReset");
  if (Session *session = Session::active())
    session->deviceReset();
  return callReal(real);
}

// The last error is the program's own.
R3_HIP_EXPORT Error hipGetLastError() {
  static auto *real = next<Error()>("hipGetLastError");
  return Session::active() ? OwnErrors::takeLast() : callReal(real);
}

R3_HIP_EXPORT Error hipPeekAtLastError() {
  static auto *real = next<Error()>("hipPeekAtLastError");
  return Session::active() ? OwnErrors::last() : callReal(real);
}
