// The dependency file names the profile, an empty option undoes R3_USE, and the option means nothing to other commands.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill pipeline='default<O1>'
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 --r3-use=%t.json -MMD -MF %t.d -c %s -o %t.o && FileCheck %s --check-prefix=DEPENDENCY < %t.d
// DEPENDENCY: {{.*}}.o:
// DEPENDENCY: build.cu.tmp.json
// RUN: env R3_USE=%t.json %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s --check-prefix=TUNED
// TUNED: tuned by
// RUN: env R3_USE=%t.json %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC --r3-use= -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3_notes %t.so | FileCheck %s --check-prefix=PLAIN
// PLAIN: 1 modules
// In a response file, where clang itself would refuse it, and with the launcher.
// RUN: echo '--r3-use=%t.json -c "%s" -DTWO="1 + 1"' > %t.inner.rsp && echo '-O2 @%t.inner.rsp' > %t.rsp
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -fPIC @%t.rsp -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s --check-prefix=TUNED
// RUN: %r3_launch --r3-use=%t.json %clangxx %minicuda --offload-arch=sm_90 -fPIC -O2 -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s --check-prefix=TUNED
// RUN: echo 'int main() {}' > %t.c && %r3_clang --r3-use=%t.json %t.c -o %t.program && %t.program
// RUN: not %r3_clang --r3-use %t.json %t.c -o %t.program 2>&1 | FileCheck %s --check-prefix=OPTION
// OPTION: r3: error: --r3-use needs its file: --r3-use=tuned.r3.json

// Relocatable device code is tuned as well.
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -fgpu-rdc -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json fill pipeline='default<O1>'
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 -O2 -fPIC -fgpu-rdc --r3-use=%t.json -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s --check-prefix=RDC
// RDC: tuned by {{.*}}(RDC){{.*}}fill(float*) tuned: pipeline
#include "minicuda.h"

__global__ void fill(float *x) { x[thread()] = 1; }
void run(float *x) { fill<<<1, 32>>>(x); }
