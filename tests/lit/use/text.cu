// The machine code of a tuned kernel is that of the code that was validated; other kernels are those of a plain build.
// DEFINE: %{flags} = %minicuda -I%S/Inputs --offload-arch=sm_90 -O3
// DEFINE: %{make} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py
// DEFINE: %{text} = %python %S/../support/text_section.py
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// RUN: %{make} %t.so %t.json step 'pipeline=default<O2>,function(slsr,loop-unroll<O3;runtime>,instcombine)' maxnreg=16 --ptx %t.step.ptx
// RUN: %{make} %t.so %t.scale.json scale 'pipeline=function(sroa,early-cse,simplifycfg)' --ptx %t.scale.ptx
// RUN: %{make} %t.so %t.json step 'pipeline=default<O2>,function(slsr,loop-unroll<O3;runtime>,instcombine)' maxnreg=16 scale 'pipeline=function(sroa,early-cse,simplifycfg)'
// RUN: %clangxx %{flags} --offload-device-only -S %s -o %t.plain.ptx
// RUN: env R3_USE=%t.json %clangxx %{flags} -fpass-plugin=%r3_plugin --offload-device-only -S %s -o %t.tuned.ptx
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.plain.ptx -o %t.plain.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.tuned.ptx -o %t.tuned.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.step.ptx -o %t.step.cubin
// RUN: %cuda_path/bin/ptxas -arch=sm_90 -O3 %t.scale.ptx -o %t.scale.cubin
// RUN: %{text} step %t.step.cubin > %t.validated && %{text} scale %t.scale.cubin >> %t.validated && %{text} advance %t.plain.cubin >> %t.validated
// RUN: %{text} "" %t.tuned.cubin > %t.built && sort %t.validated > %t.sorted && sort %t.built | cmp %t.sorted -

// They are other kernels than the build's own, and variables are there once.
// RUN: %{text} step %t.plain.cubin > %t.own && %{text} step %t.tuned.cubin | not cmp %t.own -
// RUN: %{text} scale %t.plain.cubin > %t.own && %{text} scale %t.tuned.cubin | not cmp %t.own -
// RUN: FileCheck %s < %t.tuned.ptx
// CHECK-DAG: .const .align 4 .b8 table[32]
// CHECK-DAG: .global .align 4 .b8 _ZL5state[128]
// CHECK-NOT: .b8 table
// CHECK-NOT: .b8 _ZL5state

// The same source gives the same bytes.
// RUN: %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.1.o && %r3_clangxx %{flags} --r3-use=%t.json -c %s -o %t.2.o && cmp %t.1.o %t.2.o

// With debug information, line tables and without optimisation a tuned build is still a program that ptxas takes.
// RUN: %r3_clangxx %minicuda -I%S/Inputs --offload-arch=sm_90 -O2 -g -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %{make} %t.so %t.json step 'pipeline=default<O1>' scale 'pipeline=default<O1>'
// RUN: %r3_clangxx %minicuda -I%S/Inputs --offload-arch=sm_90 -O2 -g --r3-use=%t.json -c %s -o %t.o 2>&1 | count 0
// RUN: %r3_clangxx %minicuda -I%S/Inputs --offload-arch=sm_90 -O0 -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so && %{make} %t.so %t.json step 'pipeline=default<O2>' scale 'pipeline=default<O2>'
// RUN: %r3_clangxx %minicuda -I%S/Inputs --offload-arch=sm_90 -O0 -fPIC --r3-use=%t.json -c %s -o %t.o && ld -shared %t.o -o %t.so && %r3 ls --binary %t.so | FileCheck %s --check-prefix=O0
// O0-DAG: step(int, float*, float const*){{ *}} tuned: pipeline
// O0-DAG: void scale<double>(double*, double){{ *}} tuned: pipeline
#include "kernels.h"

void run(float *x, double *z) { launch_all(x, z, 4, 128); }
