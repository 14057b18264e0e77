// A launch that the guard admits gets the tuned block and a grid that covers as many threads; every other one runs as asked.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %clangxx -c %S/Inputs/fake_runtime.cpp -o %t.runtime.o
// DEFINE: %{level} =
// DEFINE: %{run} = %r3_clangxx %minicuda --offload-arch=sm_90 %{level} --r3-use=%t.json -c %s -o %t.tuned.o && %clangxx %t.tuned.o %t.runtime.o -o %t.program && %t.program

// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill block=96,2,1 shape=10,6,1/64,4,1/256
// REDEFINE: %{level} = -O2
// RUN: %{run} | FileCheck %s --check-prefix=SHAPE
// SHAPE:      n=1 grid 7,12,1 block 96,2,1 shared 256
// SHAPE-NEXT: n=2 grid 7,12,1 block 96,2,1 shared 256
// SHAPE-NEXT: n=1 grid 10,6,1 block 64,4,1 shared 128
// SHAPE-NEXT: n=1 grid 10,7,1 block 64,4,1 shared 256
// SHAPE-NEXT: n=1 grid 10,6,1 block 128,4,1 shared 256
// SHAPE-NEXT: n=9 grid 10,6,1 block 64,4,1 shared 256
// SHAPE-NEXT: n=4 grid 10,6,2 block 64,4,1 shared 256
// SHAPE-NEXT: n=5 grid 10,6,1 block 64,4,2 shared 256
// RUN: %r3 ls --binary %t.program | FileCheck %s --check-prefix=LISTED
// LISTED: tuned by {{.*}}fill(int, float*) tuned: block 96,2,1

// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill block=256,1,1 grid=3,2,1 shape=10,6,1/64,4,1/256 scalar=0:4:02000000,07000000
// RUN: %{run} | FileCheck %s --check-prefix=SCALAR
// SCALAR:      n=1 grid 10,6,1 block 64,4,1 shared 256
// SCALAR-NEXT: n=2 grid 3,2,1 block 256,1,1 shared 256
// SCALAR-NEXT: n=1 grid 10,6,1 block 64,4,1 shared 128

// A shape may have a block of its own.
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill block=96,2,1 shape=10,6,1/64,4,1/256+10,7,1/64,4,1/256 own=10,7,1/64,4,1/256:32,7,1
// RUN: %{run} | FileCheck %s --check-prefix=OWN
// OWN:      n=1 grid 7,12,1 block 96,2,1 shared 256
// OWN-NEXT: n=2 grid 7,12,1 block 96,2,1 shared 256
// OWN-NEXT: n=1 grid 10,6,1 block 64,4,1 shared 128
// OWN-NEXT: n=1 grid 20,4,1 block 32,7,1 shared 256
// OWN-NEXT: n=1 grid 10,6,1 block 128,4,1 shared 256
// RUN: %r3 ls --binary %t.program | FileCheck %s --check-prefix=OWN-LISTED
// OWN-LISTED: fill(int, float*) tuned: block 96,2,1, 32,7,1 for a shape

// A grid that no device would take is not derived: the launch stays as it is asked for.
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill block=64,1,1 shape=10,6,1/64,4,1/256+1,40000,1/64,2,1/256+134217729,1,1/1024,1,1/256
// RUN: %{run} | FileCheck %s --check-prefix=TALL
// TALL: n=1 grid 10,24,1 block 64,1,1 shared 256
// TALL: n=6 grid 1,40000,1 block 64,2,1 shared 256

// A rule that not every architecture has can't be one: all of them run the same host code.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 --offload-arch=sm_80 -O2 --r3-use=%t.json -c %s -o %t.tuned.o 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: r3: warning: {{.*}}: fill(int, float*) keeps its launch dimensions: the profile has no launch rule that holds for all architectures of the unit
#include "minicuda.h"

__global__ void fill(int n, float *x) { x[n * thread()] = n; }
__global__ void other(int n) {}

int main() {
  float *x = nullptr;
  dim3 grid(10, 6), block(64, 4);
  fill<<<grid, block, 256>>>(1, x);
  fill<<<grid, block, 256>>>(2, x);
  fill<<<grid, block, 128>>>(1, x);
  fill<<<dim3(10, 7), block, 256>>>(1, x);
  fill<<<grid, dim3(128, 4), 256>>>(1, x);
  other<<<grid, block, 256>>>(9);
  fill<<<dim3(10, 6, 2), block, 256>>>(4, x);
  fill<<<grid, dim3(64, 4, 2), 256>>>(5, x);
  fill<<<dim3(1, 40000), dim3(64, 2), 256>>>(6, x);
}
