// The machine code of a version with tables is that of the code that was validated, guard and all.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O3
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py
// DEFINE: %{text} = %python %S/../support/text_section.py
// DEFINE: %{tables} = 'fixed-tables=@weights:0000803f0000004000004040,0+0:0000003f'
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.json smooth 'pipeline=default<O3>,function(slsr)' %{tables} fixed=2:0000000000040000 --ptx %t.smooth.ptx
// RUN: %clangxx %{flags} --offload-device-only -S %s -o %t.plain.ptx
// RUN: env R3_USE=%t.json %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.tuned.ptx
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.plain.ptx -o %t.plain.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.tuned.ptx -o %t.tuned.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.smooth.ptx -o %t.smooth.cubin
// RUN: %{text} "" %t.plain.cubin > %t.validated && %{text} smooth %t.smooth.cubin >> %t.validated
// RUN: %{text} "" %t.tuned.cubin > %t.built && sort %t.validated > %t.sorted && sort %t.built | sed 's/__r3_[0-9a-f]*//' | sort | cmp %t.sorted -
// RUN: %{text} smooth %t.plain.cubin > %t.own && %{text} smooth %t.smooth.cubin | not cmp %t.own -

// Without the tables it is other code, under another name; the variable is there once.
// RUN: %{make} %t.so %t.without.json smooth 'pipeline=default<O3>,function(slsr)' fixed=2:0000000000040000 --ptx %t.without.ptx
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.without.ptx -o %t.without.cubin
// RUN: %{text} smooth %t.without.cubin > %t.other && %{text} smooth %t.smooth.cubin | not cmp %t.other -
// RUN: env R3_USE=%t.without.json %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.other.ptx
// RUN: grep -o 'smooth.*__r3_[0-9a-f]*' %t.tuned.ptx | sort -u > %t.name && grep -o 'smooth.*__r3_[0-9a-f]*' %t.other.ptx | sort -u | not cmp %t.name -
// RUN: FileCheck %s < %t.tuned.ptx
// CHECK: .const .align 4 .b8 weights[12]
// CHECK-NOT: .b8 weights

// A table that the kernel does not have: built plainly, and said.
// RUN: %{make} %t.so %t.json smooth 'pipeline=default<O3>' fixed-tables=@weights:0000803f
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.x.o 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: r3: warning: {{.*}}smooth(float const*, float const*, Ends, float*) is built plainly: "weights" with 4 bytes is no read-only table of
#include "minicuda.h"

struct Ends {
  int first, last;
};

__constant__ float weights[3];

__global__ void smooth(const float *scale, const float *x, Ends ends, float *y) {
  int i = thread();
  if (i < ends.first || i >= ends.last)
    return;
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += weights[k] * x[i + k];
  y[i] = sum * *scale;
}

__global__ void last(float *y) { y[thread()] = weights[thread() % 3]; }

void run(float *x) {
  smooth<<<1, 32>>>(x, x, Ends{0, 1}, x);
  last<<<1, 32>>>(x);
}
