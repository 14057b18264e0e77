// The code of a tuned kernel is the validated one at whatever flags the unit has: those that forbid to vectorise or to unroll bind its pipeline, too.
// DEFINE: %{level} =
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 %{level}
// DEFINE: %{same} = %python %S/../support/same_text.py
// DEFINE: %{ptxas} = %cuda_path/bin/ptxas -arch=sm_90 -O3
// DEFINE: %{build} = %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json pairs pipeline='default<O3>' --ptx %t.validated.ptx && env R3_USE=%t.json %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.built.ptx && %{ptxas} %t.validated.ptx -o %t.validated.cubin && %{ptxas} %t.built.ptx -o %t.built.cubin
// REDEFINE: %{level} = -O3
// RUN: %{build} && %{same} pairs %t.validated.cubin %t.built.cubin && cp %t.built.cubin %t.vectorised.cubin
// REDEFINE: %{level} = -O3 -fno-slp-vectorize
// RUN: %{build} && %{same} pairs %t.validated.cubin %t.built.cubin && not %{same} pairs %t.vectorised.cubin %t.built.cubin
// REDEFINE: %{level} = -O1
// RUN: %{build} && %{same} pairs %t.validated.cubin %t.built.cubin && not %{same} pairs %t.vectorised.cubin %t.built.cubin

// REDEFINE: %{level} = -O3 -fno-unroll-loops
// RUN: %{build} && %{same} pairs %t.validated.cubin %t.built.cubin && not %{same} pairs %t.vectorised.cubin %t.built.cubin

// A variable has the alignment that the tuned code's pipeline gave it, where the unit's own did not.
// REDEFINE: %{level} = -O0
// RUN: %{build} && %{same} pairs %t.validated.cubin %t.built.cubin && FileCheck %s < %t.built.ptx
// CHECK: .shared .align 8 .b8 {{.*}}buffer[256]

// Without a pipeline of its own a kernel with attributes gets the unit's.
// REDEFINE: %{level} = -O1
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json pairs maxnreg=40 --ptx %t.validated.ptx
// RUN: env R3_USE=%t.json R3_STRICT=1 %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.built.ptx && %{ptxas} %t.validated.ptx -o %t.validated.cubin && %{ptxas} %t.built.ptx -o %t.built.cubin && %{same} pairs %t.validated.cubin %t.built.cubin
#include "minicuda.h"

__global__ void pairs(int n, const _Float16 *__restrict__ y, _Float16 *__restrict__ x, long *z) {
  __shared__ char first[3];
  __shared__ char buffer[256];
  first[n & 1] = n;
  buffer[thread() & 255] = n;
  long low, high;
  __builtin_memcpy(&low, buffer, 8);
  __builtin_memcpy(&high, buffer + 8 * n, 8);
  z[thread()] = low + high + first[2];

  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += z[k] * sum;
  z[0] = sum;

  int i = 2 * thread();
  _Float16 a = y[i], b = y[i + 1], c = y[i + 128], d = y[i + 129];
  _Float16 e = a * c + a, f = b * d + b;
  x[i] = e;
  x[i + 1] = f;
}
void run(long *z) { pairs<<<1, 32>>>(3, nullptr, nullptr, z); }
