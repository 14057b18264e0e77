// The whole way on the cpu device: recorded, a candidate taken, checked, built in, recorded again and timed as a program.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 %s -o %t.plain %cudart
// RUN: rm -rf %t.store && %r3 record --device cpu --store %t.store -- %t.plain | FileCheck %s
// RUN: rm -f %t.json && %r3 apply --store %t.store --device cpu -o %t.json --kernel saxpy --passes 'default<O3>' --block 64 --samples 3 2>&1 | FileCheck %s --check-prefix=APPLIED
// APPLIED: wrote 1 kernel to {{.*}}; build with --r3-use=
// RUN: %r3 check --store %t.store --profile %t.json --min-speedup 0 --samples 3 2>&1 | count 0
// RUN: not %r3 check --store %t.store --profile %t.json --min-speedup 1000 --samples 3 2>&1 | FileCheck %s --check-prefix=LOST
// LOST: r3: saxpy{{.*}}: lost speedup: at most

// RUN: env R3_USE_DEVICE=cpu %r3_clangxx %minicuda --offload-arch=sm_90 -O1 --r3-use=%t.json %s -o %t.tuned %cudart 2>&1 | count 0
// RUN: %r3 ls --binary %t.tuned | FileCheck %s --check-prefix=LISTED
// LISTED: tuned: pipeline, block 64,1,1
// RUN: %r3 record --device cpu --store %t.store -- %t.tuned | FileCheck %s
// CHECK: right
// RUN: %r3 bench --store %t.store --device cpu --profile %t.json --runs 2 --check 'grep -q right' %t.plain %t.tuned | FileCheck %s --check-prefix=BENCH
// BENCH: cpu device: not a prediction for any GPU
// BENCH: plain
// BENCH: tuned
// BENCH: application:
// BENCH: kernels: {{.*}} less device time by the profile
// BENCH: share of time:
// RUN: not %r3 bench --store %t.store --device cpu --profile %t.json --runs 2 --check 'grep -q wrong' %t.plain %t.tuned 2>&1 | FileCheck %s --check-prefix=WRONG
// WRONG: r3: the check `grep -q wrong` refuses the output of the plain command
#include "minicuda.h"

extern "C" int printf(const char *, ...);
extern "C" int cudaMalloc(void **Pointer, size_t Size);
extern "C" int cudaMemset(void *Pointer, int Value, size_t Size);
extern "C" int cudaMemcpy(void *Target, const void *Source, size_t Size, int Kind);
constexpr int ToDevice = 1, ToHost = 2, n = 5000;

__global__ void saxpy(float a, const float *x, float *y) {
  int i = thread();
  if (i < n)
    y[i] += a * x[i];
}

int main() {
  static float host[n];
  for (float &value : host)
    value = 1;
  void *x, *y;
  cudaMalloc(&x, sizeof host);
  cudaMalloc(&y, sizeof host);
  cudaMemcpy(x, host, sizeof host, ToDevice);
  cudaMemset(y, 0, sizeof host);
  saxpy<<<(n + 255) / 256, 256>>>(2.0f, static_cast<const float *>(x), static_cast<float *>(y));
  cudaMemcpy(host, y, sizeof host, ToHost);
  bool right = true;
  for (float value : host)
    right &= value == 2.0f;
  printf("%s\n", right ? "right" : "wrong");
}
