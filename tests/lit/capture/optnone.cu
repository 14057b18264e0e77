// What was captured at -O0 can be optimised; an optnone that the user wrote stays.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O0 -fPIC -shared %s -o %t.so && %r3_notes %t.so --bitcode %t.bc
// RUN: llvm-dis < %t.bc | grep -v source_filename | FileCheck %s --implicit-check-not=optnone --implicit-check-not=noinline
// RUN: opt -passes='default<O3>' %t.bc -S -o - | FileCheck %s --check-prefix=OPTIMISED
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -shared %s -o %t.so && %r3_notes %t.so --bitcode %t.bc
// RUN: llvm-dis < %t.bc | FileCheck %s --check-prefix=ABOVE

// CHECK: define {{.*}} @_Z5scalePff
// OPTIMISED: define {{.*}} @_Z5scalePff
// OPTIMISED-NOT: alloca
// ABOVE: noinline {{.*}}optnone

#include "minicuda.h"
__attribute__((optnone)) __device__ float slow(float x) { return x; }
__global__ void scale(float *x, float a) { x[thread()] *= slow(a); }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
