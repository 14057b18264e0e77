// The note is there, and right, at every optimisation level.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -Wall -Werror -O0 -fPIC -shared %s -o %t.so && %r3_notes %t.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -Wall -Werror -O1 -fPIC -shared %s -o %t.so && %r3_notes %t.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -Wall -Werror -O2 -fPIC -shared %s -o %t.so && %r3_notes %t.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -Wall -Werror -O3 -fPIC -shared %s -o %t.so && %r3_notes %t.so | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -Wall -Werror -Os -g -fPIC -shared %s -o %t.so && %r3_notes %t.so | FileCheck %s
// RUN: llvm-readelf -SW %t.so | FileCheck %s --check-prefix=SECTIONS
// RUN: llvm-readelf -rW %t.so | FileCheck %s --check-prefix=DYNAMIC --implicit-check-not=r3

// CHECK: levels.cu sm_90 rdc=0 kernels=_Z5scalePff
// CHECK: 1 modules
// Read-only, in memory at run time, and nothing for the dynamic linker to do in it.
// SECTIONS-DAG: .r3.bitcode {{ *}}PROGBITS {{.*}} AR {{ *}}0 {{ *}}0 {{ *}}8
// SECTIONS-DAG: .r3.json {{ *}}PROGBITS {{.*}} AR {{ *}}0 {{ *}}0 {{ *}}1
// SECTIONS-DAG: .note.r3 {{ *}}NOTE {{.*}} AR {{ *}}0 {{ *}}0 {{ *}}4
// DYNAMIC: R_X86_64_

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
