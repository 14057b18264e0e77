// The whole way of tables on the cpu device: offered, judged, built in, and left aside by the code itself when they have changed.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 %s -o %t.plain %cudart
// RUN: rm -rf %t.store && %r3 record --device cpu --store %t.store -- %t.plain 2 | FileCheck %s
// RUN: %r3 tune --store %t.store --specialise --show-space smooth | FileCheck %s --check-prefix=SPACE
// SPACE-DAG: specialise:@weights {{.*}}the 12 bytes of weights as constants, behind a guard
// SPACE-DAG: specialise:*0 {{.*}}4 bytes behind argument 0 as constants, behind a guard
// SPACE-DAG: specialise:2 {{.*}}argument 2 (8 bytes) as a constant

// RUN: rm -f %t.json && %r3 apply --store %t.store --device cpu -o %t.json --kernel smooth --fix weights --fix 0 --fix 2 --samples 3 2>&1 | FileCheck %s --check-prefix=APPLIED
// APPLIED: wrote 1 kernel to
// RUN: %r3 check --store %t.store --profile %t.json --min-speedup 0 --samples 3 2>&1 | count 0
// RUN: env R3_USE_DEVICE=cpu %r3_clangxx %minicuda --offload-arch=sm_90 -O2 --r3-use=%t.json %s -o %t.tuned %cudart 2>&1 | count 0
// RUN: %r3 ls --binary %t.tuned | FileCheck %s --check-prefix=LISTED
// LISTED: tuned: pipeline, a second version for argument 2, weights, what argument 0 points to
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/same_version.py %t.plain %t.tuned %t.json smooth | FileCheck %s --check-prefix=SAME
// SAME: equal to what was judged
// SAME: different to the kernel itself

// Whatever the tables hold, the version is launched and right: it looks itself. Another struct is the stub's affair.
// RUN: rm -rf %t.again && %r3 record --device cpu --store %t.again -- %t.tuned 2 | FileCheck %s
// RUN: %r3 ls --store %t.again | FileCheck %s --check-prefix=CHOSEN
// RUN: rm -rf %t.again && %r3 record --device cpu --store %t.again -- %t.tuned 3 | FileCheck %s
// RUN: %r3 ls --store %t.again | FileCheck %s --check-prefix=CHOSEN
// RUN: rm -rf %t.again && %r3 record --device cpu --store %t.again -- %t.tuned 2 another | FileCheck %s
// RUN: %r3 ls --store %t.again | FileCheck %s --check-prefix=GENERAL
// CHECK: right
// CHOSEN: smooth [specialised]
// CHOSEN-NOT: smooth
// GENERAL-NOT: specialised
// GENERAL: smooth

// RUN: not %r3 apply --store %t.store --device cpu -o %t.json --kernel smooth --fix 1 2>&1 | FileCheck %s --check-prefix=POINTER
// POINTER: r3: argument 1 of smooth is no scalar: it is a ptr, and there is nothing at fixed places behind it
// RUN: not %r3 apply --store %t.store --device cpu -o %t.json --kernel smooth --fix heavy 2>&1 | FileCheck %s --check-prefix=MISSING
// MISSING: r3: smooth has no argument 'heavy' (its 4 are numbered from 0) and reads no small variable of that name that no launch changes
#include "minicuda.h"

extern "C" int printf(const char *, ...);
extern "C" double atof(const char *);
extern "C" int cudaMalloc(void **Pointer, size_t Size);
extern "C" int cudaMemcpy(void *Target, const void *Source, size_t Size, int Kind);
extern "C" int cudaMemcpyToSymbol(const void *Symbol, const void *Source, size_t Size, size_t Offset, int Kind);
constexpr int ToDevice = 1, ToHost = 2, n = 1024;

struct Ends {
  int first, last;
};

__constant__ float weights[3];
__device__ float heavy[1000];

__global__ void smooth(const float *scale, const float *x, Ends ends, float *y) {
  int i = thread();
  if (i < ends.first || i >= ends.last)
    return;
  float sum = heavy[0];
  for (int k = 0; k < 3; ++k)
    sum += weights[k] * x[i + k];
  y[i] = sum * *scale;
}

template <typename Item> Item *on_device(const Item *Items, int Count) {
  void *Pointer;
  cudaMalloc(&Pointer, Count * sizeof(Item));
  cudaMemcpy(Pointer, Items, Count * sizeof(Item), ToDevice);
  return static_cast<Item *>(Pointer);
}

int main(int count, char **arguments) {
  float middle = atof(arguments[1]), table[3] = {1, middle, 1}, scale = middle / 4;
  static float x[n + 2], y[n];
  for (int i = 0; i < n + 2; ++i)
    x[i] = i % 7;
  Ends ends = {count > 2, n - 1};
  float *out = on_device(y, n);
  cudaMemcpyToSymbol(weights, table, sizeof table, 0, ToDevice);
  smooth<<<n / 128, 128>>>(on_device(&scale, 1), on_device(x, n + 2), ends, out);
  cudaMemcpy(y, out, sizeof y, ToHost);
  bool right = true;
  for (int i = ends.first; i < ends.last; ++i)
    right &= y[i] == (x[i] + middle * x[i + 1] + x[i + 2]) * scale;
  printf("%s\n", right ? "right" : "wrong");
}
