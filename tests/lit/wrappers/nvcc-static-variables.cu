// A static variable that host code names, -fgpu-rdc, used by a kernel further up: clang's device link fails, r3-nvcc's and --r3-compat's doesn't.
// REQUIRES: cuda, nvptx
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: not %clangxx %cuda --offload-arch=sm_90 -fgpu-rdc %s -o plain %cudart 2>&1 | FileCheck %s --check-prefix=CLANG
// CLANG: nvlink command failed
// RUN: %r3_clangxx %cuda --offload-arch=sm_90 -fgpu-rdc --r3-compat %s -o compat %cudart && %r3_notes compat | FileCheck %s
// RUN: %r3_nvcc --cuda-path=%cuda_path -arch=sm_90 -rdc=true -cudart shared %s -o nvcc && %r3_notes nvcc | FileCheck %s
// CHECK: rdc=1 kernels=_Z4readPf

// The recorded module is whole: the kernel reads the variable that the host writes.
// RUN: env R3_PREFIX=%r3_prefix %python -c "import sys; from pathlib import Path; from r3cc.store.binary import read_binary; Path('k.bc').write_bytes(read_binary(Path('nvcc'))[0].bitcode)" && llvm-dis k.bc -o - | FileCheck %s --check-prefix=MODULE
// MODULE: @_ZL5state__static__{{[0-9a-f]+}} = {{.*}}global [4 x float] zeroinitializer
// MODULE-NOT: @_ZL5state =
// MODULE: load float{{.*}}@_ZL5state__static__

static __device__ float state[4];
__global__ void read(float *x) { x[threadIdx.x] = state[0]; }
void *where() {
  void *p;
  cudaGetSymbolAddress(&p, state);
  return p;
}
int main() { read<<<1, 32>>>(static_cast<float *>(where())); }
