// What nvcc accepts and clang alone refuses: the compatibility header makes each line pass.
// REQUIRES: cuda, nvptx
// RUN: %r3_clangxx %cuda --offload-arch=sm_90 -fsyntax-only -std=c++17 -Xclang -verify=without -Xclang -verify-ignore-unexpected=note,warning %s
// RUN: %r3_clangxx --r3-compat %cuda --offload-arch=sm_90 -fsyntax-only -std=c++17 -Wall -Werror %s
// RUN: %r3_nvcc --cuda-path=%cuda_path -arch=sm_90 -ptx -std=c++11 %s -o %t.ptx && FileCheck %s < %t.ptx
// RUN: not %r3_nvcc --r3-no-compat --cuda-path=%cuda_path -arch=sm_90 -ptx -std=c++11 %s -o %t.ptx

// CHECK-LABEL: .entry hints
// CHECK-DAG: ld.global.lu.u32
// CHECK-DAG: ld.global.lu.v2.u64
// CHECK-DAG: st.global.cg.u32
// CHECK-DAG: st.global.cs.v2.u64
// CHECK-DAG: st.global.cs.u8
// CHECK-LABEL: .entry warps
// CHECK-DAG: shfl.sync.idx
// CHECK-DAG: shfl.sync.down
// CHECK-DAG: vote.sync.any
// CHECK-DAG: vote.sync.ballot
#include <cuda_runtime.h>

extern "C" __global__ void hints(float *x, double2 *y, char *z, const float *in) {
  x[0] = __ldca(in); // without-error {{__ldca}}
  x[1] = __ldlu(in); // without-error {{__ldlu}}
  y[0] = __ldlu(y);  // without-error {{__ldlu}}
  __stcg(x, 1);      // without-error {{__stcg}}
  __stcs(y, y[1]);   // without-error {{__stcs}}
  __stcs(z, 1);      // without-error {{__stcs}}
  __stwb(x, 1);      // without-error {{__stwb}}
}

extern "C" __global__ void warps(int *x) {
  x[0] = __shfl(x[1], 3) + __shfl_down(x[2], 1) + __any(x[3]) + __ballot(x[4]);
}

long mixed(int i, unsigned u, long l, unsigned long n, long long w, float f, double d) {
  long sum = min(i, 3);        // without-error {{no matching function}}
  sum += max(u, 3u);           // without-error {{no matching function}}
  sum += min(i, u) + max(l, n); // without-error {{no matching function}} without-error {{no matching function}}
  sum += max(w, 3ll);          // without-error {{no matching function}}
  sum += min(f, d);            // without-error {{no matching function}}
  sum += max(f, 1.0f);         // without-error {{no matching function}}
  sum += isfinite(d);          // without-error {{no matching function}}
  sum += isnan(f) + isinf(d);  // without-error {{no matching function}} without-error {{no matching function}}
  sum += umin(u, 3u);          // without-error {{no matching function}}
  return sum + llmax(w, 3ll);  // without-error {{no matching function}}
}
