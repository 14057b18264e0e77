// The captured bitcode at the recorded options gives the PTX of the build itself.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3_notes %t.so --bitcode %t.bc
// RUN: opt -passes='default<O1>' %t.bc -o %t.opt.bc && llc -O1 -mcpu=sm_90 -mattr=+ptx88 -fp-contract=fast %t.opt.bc -o - | sed 's@[ \t]*//.*@@;/^[ \t]*$/d' > %t.replayed.ptx
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O1 --offload-device-only -S %s -o - | sed 's@[ \t]*//.*@@;/^[ \t]*$/d' > %t.built.ptx
// RUN: diff %t.built.ptx %t.replayed.ptx

// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O3 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3_notes %t.so --bitcode %t.bc
// RUN: opt -passes='default<O3>' %t.bc -o %t.opt.bc && llc -O3 -mcpu=sm_90 -mattr=+ptx88 -fp-contract=fast %t.opt.bc -o - | sed 's@[ \t]*//.*@@;/^[ \t]*$/d' > %t.replayed.ptx
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O3 --offload-device-only -S %s -o - | sed 's@[ \t]*//.*@@;/^[ \t]*$/d' > %t.built.ptx
// RUN: diff %t.built.ptx %t.replayed.ptx
// REQUIRES: llc

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
