// clang --config=…/r3.cfg: the plugin without R3's compilers. The binary carries what r3-clang++ puts into it.
// REQUIRES: cuda, nvptx
// RUN: rm -rf %t && mkdir -p %t/tmp && cd %t && cp %s a.cu && sed s/scale/other/g %s > b.cu
// RUN: env TMPDIR=%t/tmp %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O2 -fPIC -shared -nostdlib a.cu b.cu -o config.so 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty
// RUN: %r3_clangxx %minicuda --offload-arch=sm_80 --offload-arch=sm_90 -O2 -fPIC -shared -nostdlib a.cu b.cu -o wrapper.so
// RUN: %r3_notes config.so > config.txt && %r3_notes wrapper.so | cmp - config.txt && FileCheck %s < config.txt
// RUN: ls %t/tmp | FileCheck %s --check-prefix=QUIET --allow-empty
// QUIET-NOT: {{.}}
// CHECK-DAG: a.cu sm_80 rdc=0 kernels=_Z5scalePff
// CHECK-DAG: b.cu sm_90 rdc=0 kernels=_Z5otherPff
// CHECK: 4 modules

// A stale descriptor in the environment is not taken for the hand-off.
// RUN: env R3_HANDOFF_FD=0 %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg %minicuda --offload-arch=sm_90 -O2 -fPIC -shared -nostdlib a.cu -o k.so && %r3_notes k.so | FileCheck %s --check-prefix=STALE
// STALE: 1 modules

// Host code is compiled and linked as ever, a profile acts, and what the user typed is recorded.
// RUN: echo 'int main() { return 0; }' > h.cpp && %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg -Wall -Werror -c h.cpp && %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg -Wall -Werror h.o -o h 2>&1 | FileCheck %s --check-prefix=QUIET --allow-empty && ./h
// RUN: echo '-O2 a.cu -c' > args.rsp && %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg %minicuda --offload-arch=sm_90 -fPIC @args.rsp -o k.o && ld -shared k.o -o k.so
// RUN: %r3 ls --json --binary k.so | FileCheck %s --check-prefix=COMMAND
// COMMAND: a.cu
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py k.so tuned.json scale pipeline='default<O1>'
// RUN: env R3_USE=%t/tuned.json %clangxx --config=%r3_prefix/lib/r3cc/r3.cfg %minicuda --offload-arch=sm_90 -O2 -fPIC -c a.cu -o k.o && ld -shared k.o -o k.so && %r3 ls --binary k.so | FileCheck %s --check-prefix=TUNED
// TUNED: tuned by

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
