// A kernel says whether it can get to an instruction on textures or surfaces: clang's headers write inline assembly, in functions that kernels call.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -shared %s -o %t.so
// RUN: %r3_notes --json %t.so > %t.json && %python -c "import json,sys; [print(k['name'], k.get('textures')) for k in json.load(open(sys.argv[1]))['kernels']]" %t.json | FileCheck %s

#include "minicuda.h"

static __device__ float fetch(unsigned long long texture, int at) {
  float x, y, z, w;
  asm("tex.1d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5}];" : "=f"(x), "=f"(y), "=f"(z), "=f"(w) : "l"(texture), "r"(at));
  return x;
}

// CHECK: _Z5readsyPf True
__global__ void reads(unsigned long long texture, float *out) { out[thread()] = fetch(texture, thread()); }

// CHECK: _Z6plainsyPf None
__global__ void plains(unsigned long long number, float *out) { out[thread()] = number; }
