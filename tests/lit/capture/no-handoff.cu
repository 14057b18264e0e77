// Without the wrapper's hand-off the build goes on, and says once that the IR is missing.
// RUN: %clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -fpass-plugin=%r3_plugin -O2 -c %s -o %t.o 2> %t.err
// RUN: FileCheck %s < %t.err && llvm-readelf -SW %t.o | FileCheck %s --check-prefix=SECTIONS --implicit-check-not=r3
// RUN: env R3_HANDOFF_FD=0 %clangxx %minicuda --offload-arch=sm_90 -fpass-plugin=%r3_plugin -O2 -c %s -o %t.o 2>&1 | FileCheck %s
// RUN: not env R3_STRICT=1 %clangxx %minicuda --offload-arch=sm_90 -fpass-plugin=%r3_plugin -O2 -c %s -o %t.o 2>&1 | FileCheck %s

// CHECK: r3: module not embedded ({{.*}}no-handoff.cu): compile with r3-clang
// CHECK-NOT: r3:
// SECTIONS: .nv_fatbin

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
