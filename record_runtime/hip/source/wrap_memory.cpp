// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that recorded launches may reach lies in the arena; other memory is known, so that launches that
// reach it are not recorded. Copies and fills wait while a launch is recorded.
#include "session.h"

using namespace r3::hip;

static Error allocate(Session *session, void **pointer, std::size_t size,
                      Error (*real)(void **, std::size_t)) {
  if (!session || !pointer || !size)
    return real(pointer, size);
  Inside inside;
  if (std::uint64_t address = session->memory().allocate(size)) {
    *pointer = reinterpret_cast<void *>(address);
    return Success;
  }
  Error result = real(pointer, size);
  if (result == Success)
    session->memory().addForeign(*pointer, size, "memory outside the recorder's range");
  return result;
}

R3_HIP_EXPORT Error hipMalloc(void **pointer, std::size_t size) {
  static auto *real = next<Error(void **, std::size_t)>("hipMalloc");
  return allocate(Session::active(), pointer, size, real);
}

R3_HIP_EXPORT Error hipMallocAsync(void **pointer, std::size_t size, void *) {
  static auto *real = next<Error(void **, std::size_t)>("hipMalloc");
  return allocate(Session::active(), pointer, size, real);
}

R3_HIP_EXPORT Error hipMallocPitch(void **pointer, std::size_t *pitch, std::size_t width,
                                   std::size_t height) {
  static auto *real = next<Error(void **, std::size_t)>("hipMalloc");
  static auto *plain = next<Error(void **, std::size_t *, std::size_t, std::size_t)>("hipMallocPitch");
  Session *session = Session::active();
  if (!session || !pitch)
    return plain(pointer, pitch, width, height);
  constexpr std::size_t alignment = 256;
  *pitch = (width + alignment - 1) / alignment * alignment;
  return allocate(session, pointer, *pitch * height, real);
}

static Error release(Session *session, void *pointer, Error (*real)(void *)) {
  if (!session || !pointer)
    return real(pointer);
  Inside inside;
  if (!session->memory().owns(reinterpret_cast<std::uint64_t>(pointer))) {
    session->memory().removeForeign(pointer);
    return real(pointer);
  }
  calls().hipDeviceSynchronize(); // as hipFree does
  return session->pass([&] {
    return session->memory().release(reinterpret_cast<std::uint64_t>(pointer)) ? Success : InvalidValue;
  });
}

R3_HIP_EXPORT Error hipFree(void *pointer) {
  static auto *real = next<Error(void *)>("hipFree");
  return release(Session::active(), pointer, real);
}

R3_HIP_EXPORT Error hipFreeAsync(void *pointer, void *stream) {
  static auto *real = next<Error(void *)>("hipFree");
  static auto *plain = next<Error(void *, void *)>("hipFreeAsync");
  Session *session = Session::active();
  return session ? release(session, pointer, real) : plain(pointer, stream);
}

/// Entries that give memory which recordings don't hold: NAME(pointer, size, flags).
#define R3_FOREIGN_MEMORY(NAME, REASON)                                                                      \
  R3_HIP_EXPORT Error NAME(void **pointer, std::size_t size, unsigned flags) {                               \
    static auto *real = next<Error(void **, std::size_t, unsigned)>(#NAME);                                  \
    Session *session = Session::active();                                                                    \
    Inside inside;                                                                                           \
    Error result = real(pointer, size, flags);                                                               \
    if (session && result == Success)                                                                        \
      session->memory().addForeign(*pointer, size, REASON);                                                  \
    return result;                                                                                           \
  }
R3_FOREIGN_MEMORY(hipMallocManaged, "managed memory")
R3_FOREIGN_MEMORY(hipHostMalloc, "pinned host memory")
R3_FOREIGN_MEMORY(hipExtMallocWithFlags, "memory of hipExtMallocWithFlags")

R3_HIP_EXPORT Error hipHostRegister(void *pointer, std::size_t size, unsigned flags) {
  static auto *real = next<Error(void *, std::size_t, unsigned)>("hipHostRegister");
  Session *session = Session::active();
  Error result = real(pointer, size, flags);
  if (session && result == Success)
    session->memory().addForeign(pointer, size, "registered host memory");
  return result;
}

/// Entries that take it back.
#define R3_FOREIGN_RELEASE(NAME)                                                                             \
  R3_HIP_EXPORT Error NAME(void *pointer) {                                                                  \
    static auto *real = next<Error(void *)>(#NAME);                                                          \
    if (Session *session = Session::active())                                                                \
      session->memory().removeForeign(pointer);                                                              \
    return real(pointer);                                                                                    \
  }
R3_FOREIGN_RELEASE(hipHostFree)
R3_FOREIGN_RELEASE(hipHostUnregister)

/// Entries that read or write memory.
#define R3_PASSED(NAME, PARAMETERS, ARGUMENTS)                                                               \
  R3_HIP_EXPORT Error NAME PARAMETERS {                                                                      \
    static auto *real = next<Error PARAMETERS>(#NAME);                                                       \
    auto call = [&] { return real ARGUMENTS; };                                                              \
    Session *session = Session::active();                                                                    \
    return session ? session->pass(call) : call();                                                           \
  }
using Size = std::size_t;
R3_PASSED(hipMemcpy, (void *to, const void *from, Size size, int kind), (to, from, size, kind))
R3_PASSED(hipMemcpyAsync, (void *to, const void *from, Size size, int kind, void *stream),
          (to, from, size, kind, stream))
R3_PASSED(hipMemcpyWithStream, (void *to, const void *from, Size size, int kind, void *stream),
          (to, from, size, kind, stream))
R3_PASSED(hipMemcpyHtoD, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyDtoH, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyDtoD, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyHtoDAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED(hipMemcpyDtoHAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED(hipMemcpyDtoDAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED(hipMemcpy2D,
          (void *to, Size to_pitch, const void *from, Size from_pitch, Size width, Size height, int kind),
          (to, to_pitch, from, from_pitch, width, height, kind))
R3_PASSED(hipMemcpy2DAsync,
          (void *to, Size to_pitch, const void *from, Size from_pitch, Size width, Size height, int kind,
           void *stream),
          (to, to_pitch, from, from_pitch, width, height, kind, stream))
R3_PASSED(hipMemcpyToSymbol, (const void *to, const void *from, Size size, Size offset, int kind),
          (to, from, size, offset, kind))
R3_PASSED(hipMemcpyToSymbolAsync,
          (const void *to, const void *from, Size size, Size offset, int kind, void *stream),
          (to, from, size, offset, kind, stream))
R3_PASSED(hipMemset, (void *to, int value, Size size), (to, value, size))
R3_PASSED(hipMemsetAsync, (void *to, int value, Size size, void *stream), (to, value, size, stream))
R3_PASSED(hipMemsetD8, (void *to, unsigned char value, Size count), (to, value, count))
R3_PASSED(hipMemsetD32, (void *to, int value, Size count), (to, value, count))
R3_PASSED(hipMemset2D, (void *to, Size pitch, int value, Size width, Size height),
          (to, pitch, value, width, height))
