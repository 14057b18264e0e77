// ptxas flags of a profile hold for the unit, in place of the user's own; without one that names some ptxas is clang's.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O3
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py
// DEFINE: %{text} = %python %S/../support/text_section.py work
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.json work pipeline='default<O3>' ptxas-opt=1 maxrregcount=24 --ptx %t.work.ptx
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O1 --maxrregcount=24 %t.work.ptx -o %t.work.cubin && %{text} %t.work.cubin > %t.validated
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.work.ptx -o %t.plain.cubin && %{text} %t.plain.cubin | not cmp %t.validated -

// RUN: rm -rf %t.temps && mkdir %t.temps && %r3_clangxx %{flags} -Xcuda-ptxas --maxrregcount=64 -save-temps=obj --r3-use=%t.json -c %s -o %t.temps/tuned.o 2>&1 | count 0
// RUN: %{text} %t.temps/ptxas-cuda-nvptx64-nvidia-cuda-sm_90.o | cmp %t.validated -
// RUN: rm -rf %t.temps && mkdir %t.temps && %r3_clangxx %{flags} -Xcuda-ptxas --maxrregcount -Xcuda-ptxas 64 -save-temps=obj --r3-use=%t.json -c %s -o %t.temps/tuned.o 2>&1 | count 0
// RUN: %{text} %t.temps/ptxas-cuda-nvptx64-nvidia-cuda-sm_90.o | cmp %t.validated -
// RUN: %r3_clangxx %{flags} -fPIC --r3-use=%t.json -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s
// CHECK: tuned: pipeline, maxrregcount=24, ptxas-opt=1

// The user's own ptxas, and a plugin without the wrapper.
// RUN: %r3_clangxx %{flags} -fPIC --ptxas-path=%cuda_path/bin/ptxas --r3-use=%t.json -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=OWN
// OWN: r3: warning: {{.*}}: the profile's ptxas flags are left out: this build's ptxas is the user's own choice
// OWN-NOT: r3:
// RUN: env R3_USE=%t.json %clangxx %{flags} -fpass-plugin=%r3_plugin -c %s -o %t.o 2>&1 | FileCheck %s --check-prefix=OWN

// RUN: not %r3_prefix/lib/r3cc/r3-ptxas %t.work.ptx 2>&1 | FileCheck %s --check-prefix=ALONE
// ALONE: r3: error: r3-ptxas is run by a build with --r3-use only
#include "minicuda.h"

__global__ void work(int n, float *x) {
  float sum[8] = {};
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < 8; ++j)
      sum[j] = sum[j] * x[k * n + thread() + j] + x[k];
  for (int j = 0; j < 8; ++j)
    x[8 * thread() + j] = sum[j];
}
void run(float *x) { work<<<1, 32>>>(3, x); }
