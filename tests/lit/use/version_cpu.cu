// The whole way of a second version on the cpu device: a candidate with constants, judged, built in, chosen by the guard, recorded again.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 %s -o %t.plain %cudart
// RUN: rm -rf %t.store && %r3 record --device cpu --store %t.store -- %t.plain 2 | FileCheck %s
// RUN: rm -f %t.json && %r3 apply --store %t.store --device cpu -o %t.json --kernel scale --block 64 --fix 0 --fix 1 --fix block --samples 3 2>&1 | FileCheck %s --check-prefix=APPLIED
// APPLIED: wrote 1 kernel to
// RUN: %r3 check --store %t.store --profile %t.json --min-speedup 0 --samples 3 2>&1 | count 0

// RUN: env R3_USE_DEVICE=cpu %r3_clangxx %minicuda --offload-arch=sm_90 -O1 --r3-use=%t.json %s -o %t.tuned %cudart 2>&1 | count 0
// RUN: %r3 ls --binary %t.tuned | FileCheck %s --check-prefix=LISTED
// LISTED: scale(int, double, double*) tuned: pipeline, block 64,1,1, a second version for argument 0, argument 1, block 64,1,1
// LISTED: scale(int, double, double*) [specialised] version: pipeline
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/same_version.py %t.plain %t.tuned %t.json scale | FileCheck %s --check-prefix=SAME
// SAME: equal to what was judged
// SAME: different to the kernel itself
// RUN: rm -rf %t.again && %r3 record --device cpu --store %t.again -- %t.tuned 2 | FileCheck %s
// CHECK: right
// RUN: %r3 ls --store %t.again | FileCheck %s --check-prefix=CHOSEN
// CHOSEN: scale [specialised]
// CHOSEN-NOT: scale

// With another value the guard holds the kernel as it was.
// RUN: rm -rf %t.again && %r3 record --device cpu --store %t.again -- %t.tuned 3 | FileCheck %s
// RUN: %r3 ls --store %t.again | FileCheck %s --check-prefix=GENERAL
// GENERAL-NOT: specialised
// GENERAL: scale 

// What launches disagree about, what is no scalar, and what isn't there.
// RUN: not %r3 apply --store %t.store --device cpu -o %t.json --kernel scale --fix 2 2>&1 | FileCheck %s --check-prefix=POINTER
// POINTER: r3: argument 2 of scale is no scalar
// RUN: not %r3 apply --store %t.store --device cpu -o %t.json --kernel scale --fix 7 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: r3: scale has no argument '7'
#include "minicuda.h"

extern "C" int printf(const char *, ...);
extern "C" int atoi(const char *);
extern "C" int cudaMalloc(void **Pointer, size_t Size);
extern "C" int cudaMemcpy(void *Target, const void *Source, size_t Size, int Kind);
constexpr int ToDevice = 1, ToHost = 2, n = 4096;
static __device__ double calls;

__global__ void scale(int rounds, double by, double *x) {
  int i = thread();
  for (int k = 0; k < rounds; ++k)
    x[i] = x[i] * by + __nvvm_read_ptx_sreg_ntid_x() * 0;
  if (i == 0)
    calls += 1;
}

__global__ void count(double *x) { x[0] += calls; }

int main(int, char **arguments) {
  int rounds = atoi(arguments[1]);
  static double host[n];
  for (double &value : host)
    value = 1;
  void *x;
  cudaMalloc(&x, sizeof host);
  cudaMemcpy(x, host, sizeof host, ToDevice);
  scale<<<n / 256, 256>>>(rounds, 2.0, static_cast<double *>(x));
  count<<<1, 1>>>(static_cast<double *>(x));
  cudaMemcpy(host, x, sizeof host, ToHost);
  bool right = host[0] == (1 << rounds) + 1;
  for (int i = 1; i < n; ++i)
    right &= host[i] == 1 << rounds;
  printf("%s\n", right ? "right" : "wrong");
}
