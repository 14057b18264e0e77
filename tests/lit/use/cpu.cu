// On the cpu device a tuned build keeps its IR and uses the launch rules of cpu entries, which no other build takes.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 %s -o %t.plain %cudart
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.plain %t.json saxpy device=cpu block=64,1,1 shape=20,1,1/256,1,1/0
// RUN: env R3_USE_DEVICE=cpu %r3_clangxx %minicuda --offload-arch=sm_90 -O1 --r3-use=%t.json %s -o %t.tuned %cudart
// RUN: rm -rf %t.store && %r3 record --device cpu --store %t.store -- %t.tuned | FileCheck %s
// CHECK:      block 64 grid 80
// CHECK-NEXT: block 128 grid 40
// CHECK-NEXT: right
// RUN: %r3 ls --binary %t.tuned | FileCheck %s --check-prefix=LISTED
// LISTED: {{^[0-9a-f]+}} sm_90 {{.*}} tuned: block 64,1,1
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 --r3-use=%t.json %s -o %t.other %cudart 2>&1 | FileCheck %s --check-prefix=OTHER
// OTHER: r3: warning: the profile {{.*}} has nothing for sm_90 but for cpu (sm_90); kernels that it names are built plainly
#include "minicuda.h"

extern "C" int printf(const char *, ...);

extern "C" int cudaMalloc(void **Pointer, size_t Size);
extern "C" int cudaMemset(void *Pointer, int Value, size_t Size);
extern "C" int cudaMemcpy(void *Target, const void *Source, size_t Size, int Kind);
constexpr int ToDevice = 1, ToHost = 2;

template <typename Element> Element *allocate(int count) {
  void *pointer;
  cudaMalloc(&pointer, sizeof(Element) * count);
  return static_cast<Element *>(pointer);
}

__global__ void saxpy(int n, float a, const float *x, float *y, int *dimensions) {
  int i = thread();
  if (i == 0) {
    dimensions[0] = __nvvm_read_ptx_sreg_ntid_x();
    dimensions[1] = __nvvm_read_ptx_sreg_nctaid_x();
  }
  if (i < n)
    y[i] += a * x[i];
}

int main() {
  constexpr int n = 5000;
  static float host[n];
  for (float &value : host)
    value = 1;
  float *x = allocate<float>(n), *y = allocate<float>(n);
  int *device = allocate<int>(2), dimensions[2];
  cudaMemcpy(x, host, sizeof(float) * n, ToDevice);
  cudaMemset(y, 0, sizeof(float) * n);
  for (int block = 256; block > 64; block /= 2) {
    saxpy<<<(n + block - 1) / block, block>>>(n, 2.0f, x, y, device);
    cudaMemcpy(dimensions, device, sizeof dimensions, ToHost);
    printf("block %d grid %d\n", dimensions[0], dimensions[1]);
  }
  cudaMemcpy(host, y, sizeof(float) * n, ToHost);
  bool right = true;
  for (float value : host)
    right &= value == 4.0f;
  printf("%s\n", right ? "right" : "wrong");
}
