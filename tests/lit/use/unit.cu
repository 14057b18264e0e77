// Module-scope values hold for the whole unit, and give the code that was validated; a lower code-generation level is raised.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py
// RUN: %r3_clangxx %{flags} -O3 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.json work pipeline='default<O3>' opt-level=1 fp-contract=never mllvm:unroll-count=2 mllvm:disable-lsr=1 --ptx %t.work.ptx
// RUN: env R3_USE=%t.json %clangxx %{flags} -O3 -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.tuned.ptx
// RUN: %clangxx %{flags} -O3 --offload-device-only -S %s -o %t.plain.ptx
// RUN: grep -v '//' %t.work.ptx > %t.left && grep -v '//' %t.tuned.ptx | cmp %t.left -
// RUN: grep -v '//' %t.plain.ptx | not cmp %t.left -
// The level alone makes other code.
// RUN: %{make} %t.so %t.level.json work pipeline='default<O3>' opt-level=0 --ptx %t.level.ptx
// RUN: env R3_USE=%t.level.json %clangxx %{flags} -O3 -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.tuned.ptx
// RUN: grep -v '//' %t.level.ptx > %t.left && grep -v '//' %t.tuned.ptx | cmp %t.left - && grep -v '//' %t.plain.ptx | not cmp %t.left -

// RUN: %r3_clangxx %{flags} -O3 -fPIC --r3-use=%t.json -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s
// CHECK: tuned: pipeline, fp-contract=never, mllvm:disable-lsr=1, mllvm:unroll-count=2, opt-level=1, code-generation level 3 of the unit, 1 in the profile: the profile's holds for the whole unit

// RUN: sed 's/default<O3>/no-such-pass/' %t.json > %t.pass.json
// RUN: %r3_clangxx %{flags} -O3 -fPIC --r3-use=%t.pass.json -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=PASS
// PASS: r3: warning: {{.*}}work(int, float*) is built plainly: cannot parse the pipeline at column 1: {{.*}}no-such-pass
// And plainly it is: no option of the entry stays, and those of the user's own do.
// RUN: env R3_USE=%t.pass.json %clangxx %{flags} -O3 -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.left.ptx 2>/dev/null
// RUN: grep -v '//' %t.plain.ptx > %t.left && grep -v '//' %t.left.ptx | cmp %t.left -
// RUN: env R3_USE=%t.pass.json %clangxx %{flags} -O3 -mllvm -unroll-count=3 -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.left.ptx 2>/dev/null
// RUN: %clangxx %{flags} -O3 -mllvm -unroll-count=3 --offload-device-only -S %s -o %t.own.ptx
// RUN: grep -v '//' %t.own.ptx > %t.own && grep -v '//' %t.left.ptx | cmp %t.own - && not cmp %t.own %t.left

// An entry's value takes the place of the user's own.
// RUN: %r3_clangxx %{flags} -O3 -mllvm -unroll-count=3 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.json work pipeline='default<O3>' mllvm:unroll-count=2 --ptx %t.work.ptx
// RUN: env R3_USE=%t.json R3_STRICT=1 %clangxx %{flags} -O3 -mllvm -unroll-count=3 -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.tuned.ptx
// RUN: grep -v '//' %t.work.ptx > %t.left && grep -v '//' %t.tuned.ptx | cmp %t.left - && not cmp %t.own %t.left
#include "minicuda.h"

__global__ void work(int n, float *x) {
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum = sum * x[k * n + thread()] + x[k];
  x[thread()] = sum;
}
void run(float *x) { work<<<1, 32>>>(3, x); }
