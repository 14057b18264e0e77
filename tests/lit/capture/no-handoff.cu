// Without the wrapper, device and host code in separate commands: the build goes on, and says once that the IR is missing.
// RUN: rm -rf %t && mkdir -p %t/tmp
// RUN: env TMPDIR=%t/tmp %clangxx %minicuda --offload-arch=sm_90 -fpass-plugin=%r3_plugin -O2 --offload-device-only -c %s -o %t/k.cubin
// RUN: %cuda_path/bin/fatbinary --create=%t/k.fatbin -64 --image3=kind=elf,sm=90,file=%t/k.cubin
// RUN: env TMPDIR=%t/tmp %clangxx %minicuda -fpass-plugin=%r3_plugin -O2 --offload-host-only -Xclang -fcuda-include-gpubinary -Xclang %t/k.fatbin -c %s -o %t/k.o 2> %t/err
// RUN: FileCheck %s < %t/err && llvm-readelf -SW %t/k.o | FileCheck %s --check-prefix=SECTIONS --implicit-check-not=r3
// RUN: not env TMPDIR=%t/tmp R3_STRICT=1 %clangxx %minicuda -fpass-plugin=%r3_plugin -O2 --offload-host-only -Xclang -fcuda-include-gpubinary -Xclang %t/k.fatbin -c %s -o %t/k.o 2>&1 | FileCheck %s

// CHECK: r3: module not embedded ({{.*}}no-handoff.cu): compile with r3-clang
// CHECK-NOT: r3:
// SECTIONS: .nv_fatbin

// What the device compilation has left, the next one removes: its driver is gone.
// RUN: ls %t/tmp | grep -c r3-handoff | FileCheck %s --check-prefix=ONE
// RUN: env TMPDIR=%t/tmp %clangxx %minicuda --offload-arch=sm_90 -fpass-plugin=%r3_plugin -O2 -c %s -o %t/k.o && ls %t/tmp | FileCheck %s --check-prefix=NONE --allow-empty
// ONE: 1
// NONE-NOT: r3-handoff

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
