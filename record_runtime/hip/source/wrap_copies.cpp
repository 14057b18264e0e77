// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies and fills: held back while a launch is recorded.
#include "session.h"

#include "hip/abi.h"

using namespace r3::hip;
using Size = std::size_t;
using Parameters = const void;
using r3::cpu::hip::Extent;
using r3::cpu::hip::PitchedPointer;

/// An entry, in parentheses its parameters and their names.
#define R3_PASSED(NAME, PARAMETERS, ARGUMENTS)                                                               \
  R3_HIP_EXPORT Error NAME PARAMETERS {                                                                      \
    static auto *real = next<Error PARAMETERS>(#NAME);                                                       \
    auto call = [&] { return real ? real ARGUMENTS : NotSupported; };                                        \
    Session *session = Session::active();                                                                    \
    return session ? session->pass(call) : call();                                                           \
  }
/// The same with its twin for per-thread default streams.
#define R3_PASSED_PAIR(NAME, PARAMETERS, ARGUMENTS)                                                          \
  R3_PASSED(NAME, PARAMETERS, ARGUMENTS)                                                                     \
  R3_PASSED(NAME##_spt, PARAMETERS, ARGUMENTS)

R3_PASSED_PAIR(hipMemcpy, (void *to, const void *from, Size size, int kind), (to, from, size, kind))
R3_PASSED_PAIR(hipMemcpyAsync, (void *to, const void *from, Size size, int kind, void *stream),
               (to, from, size, kind, stream))
R3_PASSED(hipMemcpyWithStream, (void *to, const void *from, Size size, int kind, void *stream),
          (to, from, size, kind, stream))
R3_PASSED(hipMemcpyPeer, (void *to, int toDevice, const void *from, int fromDevice, Size size),
          (to, toDevice, from, fromDevice, size))
R3_PASSED(hipMemcpyPeerAsync,
          (void *to, int toDevice, const void *from, int fromDevice, Size size, void *stream),
          (to, toDevice, from, fromDevice, size, stream))
R3_PASSED(hipMemcpyHtoD, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyDtoH, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyDtoD, (void *to, void *from, Size size), (to, from, size))
R3_PASSED(hipMemcpyHtoDAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED(hipMemcpyDtoHAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED(hipMemcpyDtoDAsync, (void *to, void *from, Size size, void *stream), (to, from, size, stream))
R3_PASSED_PAIR(hipMemcpy2D,
               (void *to, Size toPitch, const void *from, Size fromPitch, Size width, Size height, int kind),
               (to, toPitch, from, fromPitch, width, height, kind))
R3_PASSED_PAIR(hipMemcpy2DAsync,
               (void *to, Size toPitch, const void *from, Size fromPitch, Size width, Size height, int kind,
                void *stream),
               (to, toPitch, from, fromPitch, width, height, kind, stream))
R3_PASSED_PAIR(hipMemcpy3D, (Parameters * copy), (copy))
R3_PASSED_PAIR(hipMemcpy3DAsync, (Parameters * copy, void *stream), (copy, stream))
R3_PASSED(hipMemcpyParam2D, (Parameters * copy), (copy))
R3_PASSED(hipMemcpyParam2DAsync, (Parameters * copy, void *stream), (copy, stream))
R3_PASSED(hipDrvMemcpy3D, (Parameters * copy), (copy))
R3_PASSED(hipDrvMemcpy3DAsync, (Parameters * copy, void *stream), (copy, stream))
R3_PASSED_PAIR(hipMemcpyToSymbol, (const void *to, const void *from, Size size, Size offset, int kind),
               (to, from, size, offset, kind))
R3_PASSED_PAIR(hipMemcpyToSymbolAsync,
               (const void *to, const void *from, Size size, Size offset, int kind, void *stream),
               (to, from, size, offset, kind, stream))
R3_PASSED_PAIR(hipMemcpyFromSymbol, (void *to, const void *from, Size size, Size offset, int kind),
               (to, from, size, offset, kind))
R3_PASSED_PAIR(hipMemcpyFromSymbolAsync,
               (void *to, const void *from, Size size, Size offset, int kind, void *stream),
               (to, from, size, offset, kind, stream))
R3_PASSED_PAIR(hipMemset, (void *to, int value, Size size), (to, value, size))
R3_PASSED_PAIR(hipMemsetAsync, (void *to, int value, Size size, void *stream), (to, value, size, stream))
R3_PASSED(hipMemsetD8, (void *to, unsigned char value, Size count), (to, value, count))
R3_PASSED(hipMemsetD8Async, (void *to, unsigned char value, Size count, void *stream),
          (to, value, count, stream))
R3_PASSED(hipMemsetD16, (void *to, unsigned short value, Size count), (to, value, count))
R3_PASSED(hipMemsetD16Async, (void *to, unsigned short value, Size count, void *stream),
          (to, value, count, stream))
R3_PASSED(hipMemsetD32, (void *to, int value, Size count), (to, value, count))
R3_PASSED(hipMemsetD32Async, (void *to, int value, Size count, void *stream), (to, value, count, stream))
R3_PASSED_PAIR(hipMemset2D, (void *to, Size pitch, int value, Size width, Size height),
               (to, pitch, value, width, height))
R3_PASSED_PAIR(hipMemset2DAsync, (void *to, Size pitch, int value, Size width, Size height, void *stream),
               (to, pitch, value, width, height, stream))
R3_PASSED_PAIR(hipMemset3D, (PitchedPointer to, int value, Extent extent), (to, value, extent))
R3_PASSED_PAIR(hipMemset3DAsync, (PitchedPointer to, int value, Extent extent, void *stream),
               (to, value, extent, stream))
