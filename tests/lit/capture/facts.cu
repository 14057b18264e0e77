// The JSON holds what the IR alone does not.
// RUN: echo '-O2 "-Xcuda-ptxas" -maxrregcount=64' > %t.rsp
// RUN: %r3_clangxx %minicuda --offload-arch=sm_90 @%t.rsp -ffp-contract=on -fno-vectorize -mllvm -unroll-threshold=50 -fPIC -shared %s -o %t.so
// RUN: %r3_notes --json %t.so | FileCheck %s

// CHECK: "architecture": "sm_90"
// CHECK: "codegen": {
// CHECK: "codegen_level": 2,
// CHECK: "cpu": "sm_90",
// CHECK: "features": "{{.*}}+ptx
// CHECK: "fp_contract": "on",
// CHECK: "mllvm": [
// CHECK: "-unroll-threshold=50"
// CHECK: "opt_level": 2,
// CHECK: "pipeline": "default<O2>",
// CHECK: "ptxas": [
// CHECK-NEXT: "-O2",
// CHECK-NEXT: "-maxrregcount=64"
// CHECK: "unroll_loops": true,
// CHECK: "vectorize_loops": false,
// CHECK: "vectorize_slp": true
// CHECK: "command": [
// CHECK-NEXT: "clang++",
// CHECK: "-O2",
// CHECK-NEXT: "-Xcuda-ptxas",
// CHECK-NEXT: "-maxrregcount=64",
// CHECK: "compiler": "{{.*}}clang version 22
// CHECK: "directory": "{{/.+}}"
// CHECK: "source": "{{.*}}facts.cu"
// CHECK: "source_sha256": "{{[0-9a-f]+}}"
// CHECK: "triple": "nvptx64-nvidia-cuda"
// CHECK: "version": 1

#include "minicuda.h"
__global__ void scale(float *x, float a) { x[thread()] *= a; }
void run(float *x) { scale<<<1, 32>>>(x, 2.0f); }
