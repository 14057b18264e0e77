// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libamdhip64.so on the cpu device: the name and version nodes that programs ask for. All entries stand in
// libr3cpu.so.
extern "C" __attribute__((visibility("default"))) const int r3cpu_amdhip64 = 1;
