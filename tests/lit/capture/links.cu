// The note survives every linker and everything that is done to a binary afterwards.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -c %s -o %t.o
// RUN: %clangxx -pie %t.o -o %t.pie %cudart && %r3_notes %t.pie | FileCheck %s
// RUN: %clangxx -no-pie %t.o -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: %clangxx %t.o -s -Wl,--gc-sections -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: %clangxx -fuse-ld=lld %t.o -s -Wl,--gc-sections,--icf=all -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: g++ %t.o -Wl,--gc-sections -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: llvm-strip --strip-sections %t.exe -o %t.stripped && %r3_notes %t.stripped | FileCheck %s
// RUN: ld -r %t.o -o %t.partial.o && g++ %t.partial.o -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: rm -f %t.a && llvm-ar rc %t.a %t.o && %clangxx -Wl,--whole-archive %t.a -Wl,--no-whole-archive -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -flto -fuse-ld=lld %s -o %t.exe %cudart && %r3_notes %t.exe | FileCheck %s
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O1 -fsanitize=address -fno-gpu-sanitize -c %s -o %t.o && ld -r %t.o -o %t.partial.o && llvm-readelf -nW %t.partial.o | FileCheck %s --check-prefix=ASAN
// REQUIRES: g++, ld.lld

// CHECK: links.cu sm_90 rdc=0 kernels=_Z5scalePff
// CHECK-NEXT: 1 modules
// ASAN: R3 0x00000050

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
int main() { scale<<<1, 32>>>(nullptr, 2.0f); }
