// Read-only tables: which memory is one, and the code that takes its content for constants behind a guard.
// RUN: %clangxx %minicuda --offload-arch=sm_90 -O2 --offload-device-only -emit-llvm -Xclang -disable-llvm-passes -c %s -o %t.bc
// DEFINE: %{ir} = env R3_PREFIX=%r3_prefix %python %S/../support/specialise_ir.py %t.bc
// DEFINE: %{one} = 0000803f0000004000004040

// Variables: all that is small and mutable, in constant memory, or in global memory if nothing can write to it, or at least
// nothing before it is read and threads do not meet.
// RUN: %{ir} stencil find | FileCheck %s --check-prefix=STENCIL
// STENCIL: {"variables":[{"name":"weights","size":12}],"memory":[],"values":[]}
// RUN: %{ir} looked_up find | FileCheck %s --check-prefix=LOOKED
// LOOKED: {"variables":[{"name":"_ZL5dials","size":8}],"memory":[],"values":[]}
// RUN: %{ir} reread find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} meeting find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} restricted find | FileCheck %s --check-prefix=LOOKED
// RUN: %{ir} escapes find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} large find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} pointers find | FileCheck %s --check-prefix=NONE
// NONE: {"variables":[],"memory":[],"values":[]}

// Memory behind arguments: what is read at fixed places for certain, before or without a store that could reach it.
// RUN: %{ir} behind find | FileCheck %s --check-prefix=BEHIND
// BEHIND: {"variables":[],"memory":[{"argument":0,"offset":4,"size":12},{"argument":0,"offset":24,"size":8}],"values":[]}
// RUN: %{ir} overwritten find | FileCheck %s --check-prefix=OVERWRITTEN
// OVERWRITTEN: {"variables":[],"memory":[{"argument":0,"offset":0,"size":4}],"values":[]}
// RUN: %{ir} synchronised find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} unsure find | FileCheck %s --check-prefix=NONE
// RUN: %{ir} by_value find | FileCheck %s --check-prefix=VALUE
// VALUE: {"variables":[],"memory":[],"values":[1]}

// The guard stands where the table is first needed; its words are compared as bits; both bodies are there.
// RUN: %{ir} stencil @weights=%{one} | FileCheck %s
// CHECK: @weights_fixed = internal unnamed_addr addrspace(4) constant [3 x float] [float 1.000000e+00, float 2.000000e+00, float 3.000000e+00], align 4
// CHECK-LABEL: define {{.*}}@_Z7stenciliPKfPf
// CHECK: icmp sge i32
// CHECK: br i1
// CHECK: %[[A:.*]] = load i32, ptr addrspace(4) @weights, align 4
// CHECK-NEXT: %[[NA:.*]] = icmp eq i32 %[[A]], 1065353216
// CHECK: %[[B:.*]] = load i32, ptr addrspace(4) getelementptr inbounds (i8, ptr addrspace(4) @weights, i64 4)
// CHECK-NEXT: icmp eq i32 %[[B]], 1073741824
// CHECK: icmp eq i32 %{{.*}}, 1077936128
// CHECK: br i1 %{{.*}}, label %{{.*}}, label %{{.*}}, !prof
// CHECK: addrspacecast ptr addrspace(4) @weights to ptr
// CHECK: addrspacecast ptr addrspace(4) @weights_fixed to ptr

// Then O3 has constants in the one body, and no table.
// RUN: %{ir} stencil @weights=%{one} pipeline='default<O3>' | FileCheck %s --check-prefix=FOLDED
// FOLDED-NOT: @weights_fixed
// FOLDED: br i1 %{{.*}}, label %[[#TABLE:]], label
// FOLDED: [[#TABLE]]:
// FOLDED: fmul {{.*}}float %{{.*}}, 2.000000e+00
// FOLDED: fmul {{.*}}float %{{.*}}, 3.000000e+00
// FOLDED: call void @llvm.sideeffect()

// An index that is known at run time only: the private copy serves.
// RUN: %{ir} looked_up @_ZL5dials=0000803f00000040 pipeline='default<O3>' | FileCheck %s --check-prefix=COPY
// COPY: @_ZL5dials_fixed = internal unnamed_addr addrspace(1) constant [2 x float] [float 1.000000e+00, float 2.000000e+00]

// RUN: %{ir} behind 0+4=00000040000040400000803f 0+24=0000000000001440 pipeline='default<O3>' | FileCheck %s --check-prefix=FIXED
// FIXED-LABEL: define {{.*}}@_Z6behind
// FIXED: fmul {{.*}}float %{{.*}}, 3.000000e+00
// FIXED: 5.000000e+00

// RUN: %{ir} by_value 1=0000803f0000004001000000 pipeline='default<O3>' | FileCheck %s --check-prefix=STRUCT
// STRUCT-LABEL: define {{.*}}@_Z8by_value{{.*}}byval
// STRUCT-NOT: load {{.*}} %1
// STRUCT: fmul {{.*}}float %{{.*}}, 3.000000e+00

// A table that not all threads need which need another one has its guard behind the other's.
// RUN: %{ir} nested @weights=%{one} 0+0=00002041 pipeline='default<O3>' | FileCheck %s --check-prefix=NESTED
// NESTED-LABEL: define {{.*}}@_Z6nested
// NESTED: br i1 %{{.*}}, label %[[#TABLE:]], label %[[#GENERAL:]], !prof
// NESTED: fmul {{.*}}float %{{.*}}, 1.000000e+01

// What is no table, or not with that size, is refused.
// RUN: not %{ir} stencil @weights=0000803f 2>&1 | FileCheck %s --check-prefix=SIZE
// SIZE: r3: "weights" with 4 bytes is no read-only table of _Z7stenciliPKfPf
// RUN: not %{ir} stencil @nothing=0000803f 2>&1 | FileCheck %s --check-prefix=NOTHING
// NOTHING: r3: "nothing" with 4 bytes is no read-only table
// RUN: not %{ir} overwritten 0+0=0000803f0000803f 2>&1 | FileCheck %s --check-prefix=MORE
// MORE: r3: what lies 0 bytes behind argument 0 (8 bytes) is no read-only table
// RUN: not %{ir} stencil 9+0=00 2>&1 | FileCheck %s --check-prefix=ARGUMENT
// ARGUMENT: r3: what lies 0 bytes behind argument 9 (1 bytes) is no read-only table
// RUN: not %{ir} stencil @weights=zz 2>&1 | FileCheck %s --check-prefix=HEX
// HEX: r3: "@weights=zz" is no table
#include "minicuda.h"

__constant__ float weights[3];
__constant__ float many[300];
__constant__ float *where;
static __device__ float dials[2];

__device__ float weight(int k) { return weights[k]; }

__global__ void stencil(int n, const float *x, float *y) {
  int i = thread();
  if (i >= n)
    return;
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += weight(k) * x[i + k];
  y[i] = sum;
}

__global__ void looked_up(const int *which, float *y) { y[thread()] *= dials[which[thread()]]; }

__global__ void reread(int n, float *y) {
  for (int i = 0; i < n; ++i)
    y[i] *= dials[0];
}

__global__ void meeting(const int *which, float *y) {
  float dial = dials[which[thread()]];
  __nvvm_bar_sync(0);
  y[thread()] *= dial;
}

__global__ void restricted(const int *which, float *__restrict__ y) {
  y[thread()] *= 2;
  __nvvm_bar_sync(0);
  y[thread()] *= dials[which[thread()]];
}

__global__ void escapes(const float **y) { *y = dials; }
__global__ void large(float *y) { y[thread()] = many[thread()]; }
__global__ void pointers(float *y) { y[thread()] = *where; }

struct Odd {
  float unread, a, b, c;
  float pad[2];
  double d;
};

__global__ void behind(const Odd *__restrict__ odd, int n, float *y) {
  if (thread() < n) {
    y[thread()] *= odd->a + odd->c;
    __nvvm_bar_sync(0);
    y[thread()] *= odd->b;
    y[thread()] += odd->d;
  }
}

__global__ void overwritten(const float *c, float *y) {
  y[thread()] *= c[0];
  y[thread() + 1] *= c[1];
}

__global__ void synchronised(const float *c, float *y) {
  __nvvm_bar_sync(0);
  y[thread()] = c[0];
}

__global__ void unsure(const float *c, int n, float *y) {
  for (int i = 0; i < n; ++i)
    y[thread()] *= c[i];
}

__global__ void nested(const float *__restrict__ scale, const float *x, int n, float *__restrict__ y) {
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += weights[k] * x[thread() + k];
  y[thread()] = sum;
  if (sum < n)
    y[thread()] = sum * *scale;
}

struct Pair {
  float a, b;
  int on;
};

__global__ void by_value(float *y, Pair pair) {
  if (pair.on)
    y[thread()] *= pair.a + pair.b;
}
