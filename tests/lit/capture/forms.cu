// Forms of a compile that take other ways through clang.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -save-temps -shared %s -o a.so && %r3_notes a.so | FileCheck %s
// RUN: cp %s plain.cpp && %r3_clangxx %minicuda --offload-arch=sm_90 -fPIC -shared -x cuda plain.cpp -o a.so && %r3_notes a.so | FileCheck %s --check-prefix=CPP
// RUN: %r3_clang %minicuda --offload-arch=sm_90 -fPIC -shared %s -o a.so && %r3_notes a.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -fPIC -MD -MF a.d -c %s -o a.o && cp a.o first.o && %clangxx %minicuda --offload-arch=sm_90 -fPIC -MD -MF b.d -c %s -o a.o && cmp a.d b.d
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -fPIC -shared -fuse-cuid=none %s -o a.so && %r3_notes a.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --no-offload-new-driver --offload-arch=sm_90 -fPIC -shared %s -o a.so && %r3_notes a.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -c %s -o /dev/null
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -c %s -o - | llvm-readelf -nW - | FileCheck %s --check-prefix=NOTE

// CHECK: forms.cu sm_90 rdc=0 kernels=_Z5scalePff
// CPP: plain.cpp sm_90 rdc=0 kernels=_Z5scalePff
// NOTE: R3 0x00000050

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
