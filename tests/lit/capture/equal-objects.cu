// R3 adds its sections and changes nothing else: neither the host's code nor the device's.
// RUN: %clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O0 -c %s -o %t.plain.o
// RUN: %r3_clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O0 -c %s -o %t.r3.o
// RUN: %elf_diff %t.plain.o %t.r3.o
// RUN: %clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O3 -g -fPIC -c %s -o %t.plain.o
// RUN: %r3_clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O3 -g -fPIC -c %s -o %t.r3.o
// RUN: %elf_diff %t.plain.o %t.r3.o
// RUN: llvm-objcopy --dump-section=.nv_fatbin=%t.plain.fatbin %t.plain.o && llvm-objcopy --dump-section=.nv_fatbin=%t.r3.fatbin %t.r3.o
// RUN: cmp %t.plain.fatbin %t.r3.fatbin
// clang's unit id hashes the command, the plugin's flag included; it shows in relocatable device code alone.
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O2 -fgpu-rdc -cuid=1 -c %s -o %t.plain.o
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fgpu-rdc -cuid=1 -c %s -o %t.r3.o
// RUN: %elf_diff %t.plain.o %t.r3.o

#include "minicuda.h"
static __device__ float state[32];
__constant__ float table[8];
__attribute__((used)) static int kept = 3;
static int lookup(int i) { return i == 2 ? kept : i; }
__global__ void first(float *x, float a) { state[thread() & 31] = x[thread()] * a + table[thread() & 7]; }
__global__ void second(float *x) { x[thread()] = state[thread() & 31]; }
int run(float *x, int n) {
  first<<<1, 32>>>(x, 2.0f);
  second<<<1, lookup(n)>>>(x);
  return sizeof table;
}
