// One unit, one set of module-scope values; but to default<O3> the one that edited pipelines need means nothing.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O3 -fPIC
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py
// DEFINE: %{join} = %python %S/../support/join_profiles.py
// RUN: %r3_clangxx %{flags} -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.plain.json plain pipeline='default<O3>' maxnreg=64
// RUN: %{make} %t.so %t.text.json edited pipeline='function(sroa)' mllvm:unroll-threshold-default=300
// RUN: %{make} %t.so %t.other.json edited pipeline='function(sroa)' mllvm:unroll-threshold-default=300 mllvm:unroll-count=2

// RUN: %{join} %t.plain.json %t.text.json %t.json
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.o 2>&1 | count 0
// RUN: ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s
// CHECK-DAG: plain(int, float*){{ +}}tuned: pipeline, maxnreg=64, mllvm:unroll-threshold-default=300
// CHECK-DAG: edited(int, float*){{ +}}tuned: pipeline, mllvm:unroll-threshold-default=300

// RUN: %{join} %t.text.json %t.plain.json %t.json
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.o 2>&1 | count 0

// RUN: %{join} %t.plain.json %t.other.json %t.json
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: is built plainly: its module-scope values are not those of another tuned kernel of this unit
#include "minicuda.h"

__global__ void plain(int n, float *x) {
  for (int k = 0; k < n; ++k)
    x[k * n + thread()] += x[k];
}

__global__ void edited(int n, float *x) {
  for (int k = 0; k < n; ++k)
    x[k * n + thread()] *= x[k];
}

void run(float *x) {
  plain<<<1, 32>>>(3, x);
  edited<<<1, 32>>>(3, x);
}
