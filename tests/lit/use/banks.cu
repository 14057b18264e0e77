// Where the unit has other globals than the kernel alone, its machine code is the validated one but for offsets into constant banks.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O3
// DEFINE: %{same} = %python %S/../support/same_text.py step
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json step pipeline='default<O2>' --ptx %t.validated.ptx
// RUN: env R3_USE=%t.json %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.built.ptx
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.other.json step pipeline='default<O0>' --ptx %t.other.ptx
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.validated.ptx -o %t.validated.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.built.ptx -o %t.built.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.other.ptx -o %t.other.cubin
// RUN: %{same} %t.validated.cubin %t.built.cubin | FileCheck %s
// CHECK: step is equal but for 2 constant-bank offsets
// RUN: %{same} %t.validated.cubin %t.validated.cubin | FileCheck %s --check-prefix=ITSELF
// ITSELF: step is equal{{$}}
// RUN: not %{same} %t.validated.cubin %t.other.cubin 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: step differs
#include "minicuda.h"

static __device__ float first[64];
static __device__ float state[64];

__global__ void other(float *x) { first[thread() & 31] += x[thread()]; }

__global__ void step(int n, float *x) {
  for (int k = 0; k < n; ++k)
    x[16 * thread() + k] += state[thread() & 31] * state[k & 7];
}

__global__ void advance(float *x) { state[thread() & 31] += x[thread()]; }

void run(float *x) {
  other<<<1, 32>>>(x);
  step<<<1, 32>>>(4, x);
  advance<<<1, 32>>>(x);
}
