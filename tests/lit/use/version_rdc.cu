// Relocatable device code: a template's kernel that several units have is one kernel with one second version, and each stub finds it.
// REQUIRES: cuda
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O2 -fgpu-rdc
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill pipeline='default<O2>' fixed=0:02000000 local pipeline='default<O2>' fixed=0:03000000
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.a.o && %r3_clangxx %{flags} --r3-use=%t.json -DOTHER -c %s -o %t.b.o
// RUN: llvm-nm %t.a.o | grep '__r3_' | FileCheck %s --check-prefix=KEYS
// KEYS-DAG: V _Z4fillIfEviPT___r3_{{[0-9a-f]+$}}
// KEYS-DAG: V .offloading.entry._Z4fillIfEviPT___r3_{{[0-9a-f]+$}}
// KEYS-DAG: .offloading.entry._ZL5localiPf{{.*}}__r3_{{[0-9a-f]+$}}
// RUN: %clangxx -c %S/Inputs/fake_runtime.cpp -o %t.runtime.o
// RUN: %r3_clangxx %minicuda -fgpu-rdc --offload-link --offload-arch=sm_90 %t.a.o %t.b.o %t.runtime.o -o %t.program -nocudalib && %t.program | FileCheck %s
// CHECK: n=2 {{.*}} _Z4fillIfEviPT___r3_
// CHECK: n=4 {{.*}} _Z4fillIfEviPT_{{$}}
// CHECK: n=3 {{.*}} _ZL5localiPf{{.*}}__r3_
// CHECK: n=2 {{.*}} _Z4fillIfEviPT___r3_
#include "minicuda.h"

template <typename Number> __global__ void fill(int n, Number *x) { x[n * thread()] = n; }

#ifdef OTHER
void other(float *x) { fill<<<1, 32>>>(2, x); }
#else
static __global__ void local(int n, float *x) { x[n * thread()] += n; }
void other(float *x);
int main() {
  float *x = nullptr;
  fill<<<1, 32>>>(2, x);
  fill<<<1, 32>>>(4, x);
  local<<<1, 32>>>(3, x);
  other(x);
}
#endif
