// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the HIP headers of ROCm 5 take from their own clang and clang 22 no longer has. Included before every
// HIP source by r3-hipcc, and by r3-clang++ --r3-rocm.
#ifndef R3_HIP_COMPAT_H
#define R3_HIP_COMPAT_H
#if defined(__HIP__) && __has_include(<hip/hip_version.h>)

#include <hip/hip_version.h>

#ifndef __AMDGCN_WAVEFRONT_SIZE
#if (defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)) && !defined(R3_WAVEFRONT_64)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64 /* the host's as well, as ROCm's clang has it */
#endif
#endif

#if HIP_VERSION_MAJOR < 6 && __has_include(<hip/amd_detail/device_library_decls.h>)
#include <hip/amd_detail/device_library_decls.h>
#ifdef __HIP_DEVICE_COMPILE__
// What ROCm's clang links for its ocml: whether denormals are flushed. clang 22 keeps them.
extern "C" __attribute__((constant, weak)) const unsigned char __oclc_daz_opt = 0;

// ROCm's clang links hip.bc, which defines it; clang 22 does not.
extern "C" __attribute__((device)) inline __attribute__((always_inline)) void
__atomic_work_item_fence(__cl_mem_fence_flags, __memory_order order, __memory_scope scope) {
#define R3_FENCE(SCOPE)                                                                                      \
  switch (order) {                                                                                           \
  case __memory_order_relaxed:                                                                               \
    return;                                                                                                  \
  case __memory_order_acquire:                                                                               \
    return __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, SCOPE);                                                  \
  case __memory_order_release:                                                                               \
    return __builtin_amdgcn_fence(__ATOMIC_RELEASE, SCOPE);                                                  \
  case __memory_order_acq_rel:                                                                               \
    return __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, SCOPE);                                                  \
  case __memory_order_seq_cst:                                                                               \
    return __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, SCOPE);                                                  \
  }
  switch (scope) {
  case __memory_scope_work_item:
    return;
  case __memory_scope_sub_group:
    R3_FENCE("wavefront")
    return;
  case __memory_scope_work_group:
    R3_FENCE("workgroup")
    return;
  case __memory_scope_device:
    R3_FENCE("agent")
    return;
  case __memory_scope_all_svm_devices:
    R3_FENCE("")
    return;
  }
#undef R3_FENCE
}
#endif
#endif

#endif
#endif
