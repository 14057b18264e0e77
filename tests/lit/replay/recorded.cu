// What a binary carries, compiled as it says it was, is what its build made.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O0 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %r3_notes %t.so --bitcode %t.bc && %r3_notes %t.so --json > %t.json
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O0 --offload-device-only -S %s -o %t.built.ptx
// RUN: %compare_recorded %t.bc %t.json %r3_plugin %t.built.ptx | FileCheck %s --check-prefix=O0
// O0: default<O0> {{[0-9]+}} lines: equal

// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %r3_notes %t.so --bitcode %t.bc && %r3_notes %t.so --json > %t.json
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O1 --offload-device-only -S %s -o %t.built.ptx
// RUN: %compare_recorded %t.bc %t.json %r3_plugin %t.built.ptx | FileCheck %s --check-prefix=O1
// O1: default<O1> {{[0-9]+}} lines: equal

// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %r3_notes %t.so --bitcode %t.bc && %r3_notes %t.so --json > %t.json
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O2 --offload-device-only -S %s -o %t.built.ptx
// RUN: %compare_recorded %t.bc %t.json %r3_plugin %t.built.ptx | FileCheck %s --check-prefix=O2
// O2: default<O2> {{[0-9]+}} lines: equal

// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O3 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %r3_notes %t.so --bitcode %t.bc && %r3_notes %t.so --json > %t.json
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O3 --offload-device-only -S %s -o %t.built.ptx
// RUN: %compare_recorded %t.bc %t.json %r3_plugin %t.built.ptx | FileCheck %s --check-prefix=O3
// O3: default<O3> {{[0-9]+}} lines: equal

#include "minicuda.h"
extern "C" __device__ float __nv_expf(float); // libdevice's, as CUDA's headers call them
extern "C" __device__ float __nv_sinf(float);

static __device__ float state[32];
__constant__ float table[8];
__global__ void step(int n, float *x, const float *__restrict__ y) {
  int i = thread(), lane = __nvvm_read_ptx_sreg_tid_x();
  float sum = 0;
  for (int k = 0; k < n; ++k)
    sum += __nv_expf(x[i + k]) * table[k & 7] + y[k];
  state[lane & 31] = sum;
  __syncthreads();
  x[i] = __nv_sinf(sum) + state[(lane + 1) & 31];
}
void run(float *x, const float *y) { step<<<1, 32>>>(3, x, y); }
