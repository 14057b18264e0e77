// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcudart.so.12 on the cpu device: the name and version node that programs ask for. All entries stand in
// libr3cpu.so.
extern "C" __attribute__((visibility("default"))) int cudaRuntimeGetVersion(int *version) {
  *version = 12090;
  return 0;
}
