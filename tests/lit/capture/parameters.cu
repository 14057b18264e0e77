// Kernels with names (the compiler keeps them where debug info does) and their parameters as the driver packs them, and the globals that each can reach.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O0 -g -fPIC -shared %s -o %t.so
// RUN: %r3_notes --json %t.so > %t.json && %python %S/../support/flatten.py %t.json | FileCheck %s

#include "minicuda.h"
struct Empty {};
struct Mesh { char tag; double *nodes; int count; };
struct alignas(16) Quad { float x, y, z, w; };

static __device__ float written[32];
static __device__ int escaped;
static __device__ float readOnly[4] = {1, 2, 3, 4};
__constant__ int fromHost[8];

// CHECK: kernel packed line [[#@LINE+6]]
// CHECK-NEXT: 0 1 i1 flag
// CHECK-NEXT: 8 24 %struct.Mesh mesh
// CHECK-NEXT: 32 16 %struct.Quad quad
// CHECK-NEXT: 48 1 %struct.Empty nothing
// CHECK-NEXT: 56 8 ptr out
__global__ void packed(bool flag, Mesh mesh, Quad quad, Empty nothing, double *out) {
// CHECK-NEXT: reaches{{$}}
  out[thread()] = flag ? mesh.nodes[mesh.count] : quad.w;
}

__device__ float helper(int i) { return written[i] + readOnly[i & 3]; }

// CHECK: kernel reader line [[#@LINE+3]]
// CHECK-NEXT: 0 8 ptr x
// CHECK-NEXT: reaches fromHost written readOnly
__global__ void reader(float *x) { x[thread()] = helper(thread()) + fromHost[thread() & 7]; }

// CHECK: kernel writer line
// CHECK-NEXT: 0 4 float v
// CHECK-NEXT: reaches written writer(float)::counter
__global__ void writer(float v) {
  static __device__ int counter;
  written[thread()] = v + counter++;
}

__attribute__((noinline)) __device__ void set(int *p) { *p = 1; }
// CHECK: kernel escaper line
// CHECK-NEXT: reaches escaped
__global__ void escaper() { set(&escaped); }

typedef float (*Operation)(int);
// CHECK: kernel indirect line
// CHECK-NEXT: 0 8 ptr table
// CHECK-NEXT: 8 8 ptr x
// CHECK-NEXT: reaches written readOnly
__global__ void indirect(Operation *table, float *x) { x[thread()] = table[0](1); }
// CHECK: kernel fill line
__global__ void fill(Operation *table) { table[0] = helper; }

int run(double *x) {
  packed<<<1, 1>>>(true, Mesh(), Quad(), Empty(), x);
  reader<<<1, 1>>>(nullptr);
  writer<<<1, 1>>>(1);
  escaper<<<1, 1>>>();
  indirect<<<1, 1>>>(nullptr, nullptr);
  fill<<<1, 1>>>(nullptr);
  return (int)(size_t)&fromHost;
}

// CHECK: global fromHost 32 constant external mutable
// CHECK-DAG: global written 128 global internal mutable
// CHECK-DAG: global readOnly 16 global internal immutable
// CHECK-DAG: global writer(float)::counter 4 global internal mutable
// CHECK-DAG: global escaped 4 global internal mutable
