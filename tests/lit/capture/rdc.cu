// Relocatable device code: the link registers the fat binary, so the note names no wrapper.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -fgpu-rdc -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %r3_notes %t.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --no-offload-new-driver --offload-arch=sm_90 -fgpu-rdc -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.old.so
// RUN: %r3_notes %t.old.so | FileCheck %s
// RUN: %r3_notes %t.so --json | FileCheck %s --check-prefix=JSON

// CHECK: rdc.cu sm_90 rdc=1 kernels=_Z5scalePff
// CHECK-NEXT: 1 modules
// JSON: "ptxas": [
// JSON-NEXT: "-O2"
// JSON-NEXT: ]
// JSON-NEXT: "relocatable": true

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
