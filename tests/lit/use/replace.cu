// What a tuned kernel shares with its unit it still shares, and what its own pipeline made is its own, whatever the unit has under that name.
// DEFINE: %{rdc} =
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O3 %{rdc}
// DEFINE: %{build} = %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json choose pipeline='default<O3>' fixed=0:03000000 get pipeline='default<O3>' set pipeline='default<O1>' && env R3_USE=%t.json R3_STRICT=1 %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.ptx
// RUN: %{build} && FileCheck %s --check-prefixes=CHECK,PRIVATE < %t.ptx

// Both switches of `choose` are tables; in the version, one is folded and the other's table has the first one's name.
// CHECK: .func {{.*}} _Z7inlinedf__r3_0
// CHECK-DAG: switch_$_table_$__Z6chooseiiPi[24] = {11, 0, 0, 0, 25,
// CHECK-DAG: switch_$_table_$__Z6chooseiiPi1[24] = {255, 1, 0, 0, 69, 1,
// CHECK-DAG: switch_$_table_$__Z6chooseiiPi__r3_0[24] = {247, 17, 0, 0, 109, 11,

// A variable that the unit's own pipeline would take apart is there once, and as private as it was.
// CHECK-DAG: {{^}}.global .align 4 .b8 _ZL4pair[8];
// CHECK-NOT: .b{{8|32}} {{.*}}pair
// RUN: %clangxx %{flags} --offload-device-only -S %s -o - | FileCheck %s --check-prefix=PLAIN
// PLAIN: _ZL4pair_$_0

// Another unit may replace a weak function, so its callers go on calling that one.
// CHECK: .weak .func {{.*}} _Z6weaklyf(
// CHECK-NOT: _Z6weaklyf__r3
// CHECK: .entry _Z6choose{{.*}}__r3_
// CHECK: mov.b64 {{.*}} switch_$_table_$__Z6chooseiiPi__r3_0
// CHECK-NOT: _Z6weaklyf__r3

// What a kernel alone calls is as visible as it was when it was judged, but for code that is linked to other units'.
// PRIVATE: {{^}}.weak .func {{.*}} _Z7inlinedf__r3_0(
// REDEFINE: %{rdc} = -fgpu-rdc
// RUN: %{build} && FileCheck %s --check-prefixes=CHECK,LINKED < %t.ptx
// LINKED: {{^}}.func {{.*}} _Z7inlinedf__r3_0(
#include "minicuda.h"

static __device__ float pair[2];
__attribute__((weak, noinline)) __device__ float weakly(float x) { return x + 7; }
inline __attribute__((noinline)) __device__ float inlined(float x) { return x * 3; }

__global__ void choose(int n, int k, int *x) {
  int first = 0, second = 0;
  switch (n) { // clang-format off
  case 0: first = 11; break;
  case 1: first = 25; break;
  case 2: first = 38; break;
  case 3: first = 9; break;
  case 4: first = 1234; break;
  case 5: first = 77; break;
  }
  switch (k) {
  case 0: second = 511; break;
  case 1: second = 325; break;
  case 2: second = 138; break;
  case 3: second = 99; break;
  case 4: second = 34; break;
  case 5: second = 877; break;
  } // clang-format on
  x[thread()] = first * second;
}

__global__ void set(float *x) {
  pair[0] = x[0];
  pair[1] = x[1] * 2;
}

__global__ void get(float *x) { x[thread()] = weakly(pair[0]) + inlined(pair[1]); }

void run(int *x) {
  choose<<<1, 32>>>(3, 2, x);
  set<<<1, 32>>>(reinterpret_cast<float *>(x));
  get<<<1, 32>>>(reinterpret_cast<float *>(x));
}
