// What gcc takes in C with a warning, and clang refuses: host sources of old programs have it.
// RUN: rm -rf %t && mkdir -p %t/cuda/include && touch %t/cuda/include/cuda_runtime.h
// RUN: %r3_nvcc --cuda-path=%t/cuda -w -c %s -o %t/k.o && %r3_nvcc --cuda-path=%t/cuda -w -x c -c %s -o %t/k.o
// RUN: not %r3_clang -c %s -o %t/k.o 2>&1 | FileCheck %s
// CHECK-DAG: error: type specifier missing
// CHECK-DAG: error: incompatible function pointer types
// CHECK-DAG: error: incompatible integer to pointer conversion
// CHECK-DAG: error: incompatible pointer types
// CHECK-DAG: error: call to undeclared function
// CHECK-DAG: error: void function 'nothing' should not return a value
static twice(x) int x; { return 2 * x; }
void callback(int *p) { *p = 1; }
void (*pointer)(float *) = callback;
int *from_number = 5;
main() {
  float *f = 0;
  int *i = f;
  undeclared();
  return twice(1) - 2 && i;
}
void nothing(void) { return 1; }
