// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What nvcc accepts in CUDA sources and clang doesn't. r3-nvcc includes it before every CUDA source,
// r3-clang++ with --r3-compat.
#ifndef R3_NVCC_COMPAT_H
#define R3_NVCC_COMPAT_H
#pragma GCC system_header // no warnings of the user's -W flags from here
#if defined(__CUDACC__) && defined(__clang__)

// nvcc's runtime header brings these in, and programs rely on it. <math.h> makes isnan, isfinite, isinf and
// signbit known to host code without std::.
#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <new>
#include <utility>

// min and max of host code: clang has them for device code alone. Never templates, so that they win over
// std::min where both can be meant, as nvcc's do.
#define R3_ORDER(Type, Left, Right)                                                                          \
  static inline __host__ Type min(Left L, Right R) {                                                         \
    return static_cast<Type>(L) < static_cast<Type>(R) ? static_cast<Type>(L) : static_cast<Type>(R);        \
  }                                                                                                          \
  static inline __host__ Type max(Left L, Right R) {                                                         \
    return static_cast<Type>(L) < static_cast<Type>(R) ? static_cast<Type>(R) : static_cast<Type>(L);        \
  }
#define R3_ORDER_INTEGERS(Signed)                                                                            \
  R3_ORDER(Signed, Signed, Signed)                                                                           \
  R3_ORDER(unsigned Signed, unsigned Signed, unsigned Signed)                                                \
  R3_ORDER(unsigned Signed, Signed, unsigned Signed)                                                         \
  R3_ORDER(unsigned Signed, unsigned Signed, Signed)
R3_ORDER_INTEGERS(int)
R3_ORDER_INTEGERS(long)
R3_ORDER_INTEGERS(long long)
#undef R3_ORDER_INTEGERS
#undef R3_ORDER

// Of two numbers one of which is NaN, the other: what fmin and fmax say.
#define R3_ORDER(Type, Left, Right, Suffix)                                                                  \
  static inline __host__ Type min(Left L, Right R) { return fmin##Suffix(L, R); }                            \
  static inline __host__ Type max(Left L, Right R) { return fmax##Suffix(L, R); }
R3_ORDER(float, float, float, f)
R3_ORDER(double, double, double, )
R3_ORDER(double, float, double, )
R3_ORDER(double, double, float, )
#undef R3_ORDER

static inline __host__ unsigned umin(unsigned L, unsigned R) { return min(L, R); }
static inline __host__ unsigned umax(unsigned L, unsigned R) { return max(L, R); }
static inline __host__ long long llmin(long long L, long long R) { return min(L, R); }
static inline __host__ long long llmax(long long L, long long R) { return max(L, R); }
static inline __host__ unsigned long long ullmin(unsigned long long L, unsigned long long R) {
  return min(L, R);
}
static inline __host__ unsigned long long ullmax(unsigned long long L, unsigned long long R) {
  return max(L, R);
}

// Loads and stores with a cache hint that clang lacks, for values of 1, 2, 4, 8 or 16 bytes. __ldca and
// __stwb name the hint that every load and store has.
template <typename T> struct r3_value_of {
  typedef T type;
};
template <typename T> static inline __device__ T __ldca(const T *P) { return *P; }
template <typename T> static inline __device__ void __stwb(T *P, typename r3_value_of<T>::type Value) {
  *P = Value;
}

#define R3_LOAD_SIZE(Hint, Size, Words, Form, Results, Place)                                                \
  if constexpr (sizeof(T) == Size) {                                                                         \
    Words;                                                                                                   \
    asm volatile("ld.global." Hint Form ", [%" Place "];" : Results : "l"(P) : "memory");                    \
    __builtin_memcpy(&Value, W, Size);                                                                       \
  }
#define R3_LOAD(Name, Hint)                                                                                  \
  template <typename T> static inline __device__ T Name(const T *P) {                                        \
    T Value;                                                                                                 \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,   \
                  #Name " takes values of 1, 2, 4, 8 or 16 bytes");                                          \
    R3_LOAD_SIZE(Hint, 1, unsigned short W[1], ".u8 %0", "=h"(W[0]), "1")                                    \
    R3_LOAD_SIZE(Hint, 2, unsigned short W[1], ".u16 %0", "=h"(W[0]), "1")                                   \
    R3_LOAD_SIZE(Hint, 4, unsigned W[1], ".u32 %0", "=r"(W[0]), "1")                                         \
    R3_LOAD_SIZE(Hint, 8, unsigned long long W[1], ".u64 %0", "=l"(W[0]), "1")                               \
    R3_LOAD_SIZE(Hint, 16, unsigned long long W[2], ".v2.u64 {%0, %1}", R3_BOTH("=l"(W[0]), "=l"(W[1])),     \
                 "2")                                                                                        \
    return Value;                                                                                            \
  }
#define R3_BOTH(First, Second) First, Second
#define R3_STORE_SIZE(Hint, Size, Words, Form, Values)                                                       \
  if constexpr (sizeof(T) == Size) {                                                                         \
    Words = {};                                                                                              \
    __builtin_memcpy(W, &Value, Size);                                                                       \
    asm volatile("st.global." Hint Form ";" ::"l"(P), Values : "memory");                                    \
  }
#define R3_STORE(Name, Hint)                                                                                 \
  template <typename T> static inline __device__ void Name(T *P, typename r3_value_of<T>::type Value) {      \
    static_assert(sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16,   \
                  #Name " takes values of 1, 2, 4, 8 or 16 bytes");                                          \
    R3_STORE_SIZE(Hint, 1, unsigned short W[1], ".u8 [%0], %1", "h"(W[0]))                                   \
    R3_STORE_SIZE(Hint, 2, unsigned short W[1], ".u16 [%0], %1", "h"(W[0]))                                  \
    R3_STORE_SIZE(Hint, 4, unsigned W[1], ".u32 [%0], %1", "r"(W[0]))                                        \
    R3_STORE_SIZE(Hint, 8, unsigned long long W[1], ".u64 [%0], %1", "l"(W[0]))                              \
    R3_STORE_SIZE(Hint, 16, unsigned long long W[2], ".v2.u64 [%0], {%1, %2}",                               \
                  R3_BOTH("l"(W[0]), "l"(W[1])))                                                             \
  }
R3_LOAD(__ldlu, "lu")
R3_STORE(__stcg, "cg")
R3_STORE(__stcs, "cs")
#undef R3_STORE
#undef R3_STORE_SIZE
#undef R3_BOTH
#undef R3_LOAD
#undef R3_LOAD_SIZE

// clang ignores the attribute and would make a host variable of it: another program, without an error.
#undef __managed__
#define __managed__                                                                                          \
  _Pragma("GCC error \"clang has no __managed__ variables; use a pointer from cudaMallocManaged\"")

// The warp intrinsics without _sync, which no GPU since sm_70 has: over the threads that are there. enable_if
// makes these the better match where clang's own are the same otherwise; macros would tear members of those
// names.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define R3_BETTER __attribute__((enable_if(true, "")))
#define R3_SHUFFLE(Name, Type, Lane)                                                                         \
  static inline __device__ Type Name(Type Value, Lane L, int Width = warpSize) R3_BETTER {                   \
    return Name##_sync(__activemask(), Value, L, Width);                                                     \
  }
#define R3_SHUFFLES(Type)                                                                                    \
  R3_SHUFFLE(__shfl, Type, int)                                                                              \
  R3_SHUFFLE(__shfl_up, Type, unsigned)                                                                      \
  R3_SHUFFLE(__shfl_down, Type, unsigned)                                                                    \
  R3_SHUFFLE(__shfl_xor, Type, int)
R3_SHUFFLES(int)
R3_SHUFFLES(unsigned)
R3_SHUFFLES(long)
R3_SHUFFLES(unsigned long)
R3_SHUFFLES(long long)
R3_SHUFFLES(unsigned long long)
R3_SHUFFLES(float)
R3_SHUFFLES(double)
static inline __device__ int __any(int Predicate) R3_BETTER { return __any_sync(__activemask(), Predicate); }
static inline __device__ int __all(int Predicate) R3_BETTER { return __all_sync(__activemask(), Predicate); }
static inline __device__ unsigned __ballot(int Predicate) R3_BETTER {
  return __ballot_sync(__activemask(), Predicate);
}
#undef R3_SHUFFLES
#undef R3_SHUFFLE
#undef R3_BETTER
#endif

#endif

// Programs ask for nvcc by these names. NVIDIA's own headers, which would then take clang for nvcc, have it
// hidden from them by those in nvcc/, which stand before them.
#if defined(R3_AS_NVCC) && !defined(__NVCC__) &&                                                             \
    (!defined(__CUDACC__) || __has_include(<cuda/std/__cccl/compiler.h>))
#define __NVCC__ 1
#if defined(CUDART_VERSION) && !defined(__CUDACC_VER_MAJOR__)
#define __CUDACC_VER_MAJOR__ (CUDART_VERSION / 1000)
#define __CUDACC_VER_MINOR__ (CUDART_VERSION % 1000 / 10)
#define __CUDACC_VER_BUILD__ 0
#endif
#endif

#endif
