// One module for each device architecture, all tied to the one fat binary.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O2 -fPIC -shared %s -o %t.so
// RUN: %r3_notes %t.so | FileCheck %s

// CHECK: architectures.cu sm_80 rdc=0 kernels=_Z5scalePff
// CHECK-NEXT: architectures.cu sm_90 rdc=0 kernels=_Z5scalePff
// CHECK-NEXT: 2 modules

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
