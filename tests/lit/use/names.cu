// Launch rules find their kernel by its registration: whatever it is called, and whatever others are called.
// DEFINE: %{flags} = %minicuda --offload-arch=sm_90 -O2
// DEFINE: %{more} =
// DEFINE: %{kernel} =
// DEFINE: %{run} = env R3_PREFIX=%r3_prefix %python %S/../support/make_profile.py %t.so %t.json %{kernel} pipeline='default<O2>' block=32,1,1 shape=10,1,1/64,1,1/0 && env R3_STRICT=1 %r3_clangxx %{flags} %{more} --r3-use=%t.json -c %s -o %t.tuned.o 2>&1 && %clangxx %t.tuned.o %t.runtime.o -o %t.program && %t.program
// RUN: %clangxx -c %S/Inputs/fake_runtime.cpp -o %t.runtime.o
// RUN: %r3_clangxx %{flags} -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// REDEFINE: %{kernel} = 2v24step
// RUN: %{run} | FileCheck %s --check-prefix=FIRST
// REDEFINE: %{kernel} = hidden
// RUN: %{run} | FileCheck %s --check-prefix=SECOND
// REDEFINE: %{kernel} = go__static__bbb
// RUN: %{run} | FileCheck %s --check-prefix=FOURTH
// FIRST: n=1 grid 20,1,1 block 32,1,1
// SECOND: n=1 grid 10,1,1
// SECOND: n=2 grid 20,1,1 block 32,1,1
// FOURTH: n=3 grid 10,1,1
// FOURTH: n=4 grid 20,1,1 block 32,1,1

// The unit's id that clang adds is another one with other flags.
// REDEFINE: %{more} = -fgpu-rdc -DMORE
// RUN: %r3_clangxx %{flags} -fgpu-rdc -fPIC -c %s -o %t.o && ld -shared %t.o -o %t.so
// REDEFINE: %{kernel} = hidden
// RUN: %{run} | FileCheck %s --check-prefix=SECOND
// REDEFINE: %{kernel} = go__static__bbb
// RUN: %{run} | FileCheck %s --check-prefix=FOURTH
#include "minicuda.h"

namespace v2 {
__global__ void step(int n, float *x) { x[n * thread()] = n; }
} // namespace v2
namespace {
__global__ void hidden(int n, float *x) { x[n * thread()] = n + 1; }
} // namespace
__global__ void go__static__aaa(int n, float *x) { x[n * thread()] = n + 2; }
__global__ void go__static__bbb(int n, float *x) { x[n * thread()] = n + 3; }

int main() {
  float *x = nullptr;
  v2::step<<<10, 64>>>(1, x);
  hidden<<<10, 64>>>(2, x);
  go__static__aaa<<<10, 64>>>(3, x);
  go__static__bbb<<<10, 64>>>(4, x);
}
