// What nvcc and gcc let pass, with a warning at most, and clang refuses by default.
// REQUIRES: cuda, nvptx
// RUN: %r3_nvcc --cuda-path=%cuda_path --r3-no-compat -nocudainc -I%inputs -arch=sm_90 -std=c++17 -c %s -o %t.o
// RUN: not %r3_clangxx %minicuda --offload-arch=sm_90 -std=c++17 -c %s -o %t.o 2>&1 | FileCheck %s
// CHECK-DAG: error: ISO C++17 does not allow 'register'
// CHECK-DAG: error: {{.*}}cannot be narrowed
// CHECK-DAG: error: invalid suffix on literal
#include "minicuda.h"
#define MACRO "b"
struct Pair {
  float x, y;
};
__global__ void k(float *x) {
  register int i = thread();
  Pair p = {i, 2};
  x[i] = p.x;
}
const char *text() { return "a"MACRO; }
