// A launch that has what a second version takes for granted gets it; every other one gets the kernel as it was.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %clangxx -c %S/Inputs/fake_runtime.cpp -o %t.runtime.o
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json
// DEFINE: %{level} =
// REDEFINE: %{level} = -O2
// DEFINE: %{run} = %r3_clangxx %minicuda --offload-arch=sm_90 %{level} --r3-use=%t.json -c %s -o %t.tuned.o && %clangxx %t.tuned.o %t.runtime.o -o %t.program && %t.program

// By arguments: integers and floating-point numbers, bit by bit.
// RUN: %{make} fill pipeline='default<O3>' fixed=0:02000000+1:0000000000000080
// RUN: %{run} | FileCheck %s --check-prefix=VALUE
// VALUE:      n=1 grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf{{$}}
// VALUE-NEXT: n=2 grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf__r3_{{[0-9a-f]+$}}
// VALUE-NEXT: n=2 grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf{{$}}
// VALUE-NEXT: n=2 grid 10,7,1 block 64,4,1 shared 256 _Z4fillidPf__r3_
// VALUE-NEXT: n=2 grid 10,6,1 block 64,4,1 shared 49152 _Z4fillidPf__r3_
// VALUE-NEXT: n=2 grid 10,6,1 block 64,4,1 shared 49156 _Z4fillidPf{{$}}
// RUN: %r3 ls --binary %t.program | FileCheck %s --check-prefix=LISTED
// LISTED: tuned by {{.*}}fill(int, double, float*){{ *}} tuned: pipeline, a second version for argument 0, argument 1
// LISTED: fill(int, double, float*) [specialised] version: pipeline

// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O0 -g -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %{make} fill pipeline='default<O3>' fixed=0:02000000+1:0000000000000080
// REDEFINE: %{level} = -O0 -g
// RUN: %{run} | FileCheck %s --check-prefix=VALUE
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// REDEFINE: %{level} = -O2

// By what is launched, under a rule for other dimensions.
// RUN: %{make} fill pipeline='default<O3>' block=96,2,1 shape=10,6,1/64,4,1/256 fixed=0:02000000 fixed-block=96,2,1 fixed-grid=7,12,1
// RUN: %{run} | FileCheck %s --check-prefix=RULE
// RULE:      n=1 grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf{{$}}
// RULE-NEXT: n=2 grid 7,12,1 block 96,2,1 shared 256 _Z4fillidPf__r3_
// RULE-NEXT: n=2 grid 7,12,1 block 96,2,1 shared 256 _Z4fillidPf__r3_
// RULE-NEXT: n=2 grid 10,7,1 block 64,4,1 shared 256 _Z4fillidPf{{$}}

// By a struct, all of it.
// RUN: %{make} spread pipeline='default<O3>' fixed=0:08000000010000000000000000000040
// RUN: %{run} | FileCheck %s --check-prefix=STRUCT
// STRUCT:      n=8 {{.*}} _Z6spread5RangePf__r3_{{[0-9a-f]+$}}
// STRUCT-NEXT: n=8 {{.*}} _Z6spread5RangePf{{$}}
// STRUCT-NEXT: n=8 {{.*}} _Z6spread5RangePf{{$}}

// By the dynamic shared memory that is left beside its own variables, with room for their alignment.
// RUN: %{make} share pipeline='default<O3>' fixed=0:06000000
// RUN: %{run} | FileCheck %s --check-prefix=SHARED
// SHARED:      n=6 {{.*}} shared 48128 _Z5shareiPc__r3_{{[0-9a-f]+$}}
// SHARED-NEXT: n=6 {{.*}} shared 48893 _Z5shareiPc{{$}}

// By what the application itself launches.
// RUN: %{make} fill pipeline='default<O3>' fixed=- fixed-block=64,4,1 fixed-grid=10,6,1
// RUN: %{run} | FileCheck %s --check-prefix=ASKED
// ASKED-COUNT-3: grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf__r3_
// ASKED:         grid 10,7,1 block 64,4,1 shared 256 _Z4fillidPf{{$}}
// ASKED:         grid 10,6,1 block 64,5,1 shared 256 _Z4fillidPf{{$}}

// Bounds that the source does not have are those of a version: larger blocks still launch.
// RUN: %{make} fill pipeline='default<O3>' maxntid=64,4,1 fixed=-
// RUN: %{run} | FileCheck %s --check-prefix=BOUNDS
// BOUNDS:      n=1 grid 10,6,1 block 64,4,1 shared 256 _Z4fillidPf__r3_
// BOUNDS:      n=7 grid 10,6,1 block 64,5,1 shared 256 _Z4fillidPf{{$}}

// A parameter that isn't there, and one of another size.
// RUN: %{make} fill pipeline='default<O3>' fixed=5:02000000
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 --r3-use=%t.json -c %s -o %t.tuned.o 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: r3: warning: {{.*}}fill(int, double, float*) is built plainly: "5=02000000" is no parameter

// Two architectures: both must have the version, because they share the host code.
// RUN: %{make} fill pipeline='default<O3>' fixed=0:02000000
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 --offload-arch=sm_80 -O2 --r3-use=%t.json -c %s -o %t.tuned.o 2>&1 | FileCheck %s --check-prefix=ONE
// ONE: r3: warning: {{.*}}: fill(int, double, float*) keeps its launches, and no second version of it is used: the profile has no launch rule that holds for all architectures of the unit
// RUN: %clangxx %t.tuned.o %t.runtime.o -o %t.program && %t.program | FileCheck %s --check-prefix=PLAIN
// PLAIN-NOT: __r3_
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 --offload-arch=sm_80 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %{make} --architecture=sm_80 fill pipeline='default<O3>' fixed=0:02000000 && cp %t.json %t.80.json
// RUN: %{make} --architecture=sm_90 fill pipeline='default<O2>' fixed=0:02000000 && %python -c "import json; a, b = (json.load(open(f)) for f in ('%t.json', '%t.80.json')); a['kernels'] += b['kernels']; json.dump(a, open('%t.json', 'w'))"
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 --offload-arch=sm_80 -O2 --r3-use=%t.json -c %s -o %t.tuned.o 2>&1 | count 0
// RUN: %clangxx %t.tuned.o %t.runtime.o -o %t.program && %t.program | FileCheck %s --check-prefix=BOTH
// BOTH: n=2 {{.*}} _Z4fillidPf__r3_
#include "minicuda.h"

__global__ void fill(int n, double by, float *x) { x[n * thread()] = n * by; }

struct Range {
  int from, to;
  double by;
};
__global__ void spread(Range of, float *x) { x[of.from * thread() + of.to] = of.by; }

__global__ void share(int n, char *x) {
  __shared__ char few[3], many[256];
  few[thread() % 3] = many[thread()] = n;
  x[thread()] = few[n % 3] + many[n];
}

int main() {
  float *x = nullptr;
  dim3 grid(10, 6), block(64, 4);
  fill<<<grid, block, 256>>>(1, -0.0, x);
  fill<<<grid, block, 256>>>(2, -0.0, x);
  fill<<<grid, block, 256>>>(2, 0.0, x);
  fill<<<dim3(10, 7), block, 256>>>(2, -0.0, x);
  fill<<<grid, block, 49152>>>(2, -0.0, x);
  fill<<<grid, block, 49156>>>(2, -0.0, x);
  fill<<<grid, dim3(64, 5), 256>>>(7, -0.0, x);
  spread<<<grid, block>>>(Range{8, 1, 2.0}, x);
  spread<<<grid, block>>>(Range{8, 2, 2.0}, x);
  spread<<<grid, block>>>(Range{8, 1, 4.0}, x);
  share<<<grid, block, 48128>>>(6, nullptr);
  share<<<grid, block, 48893>>>(6, nullptr);
}
