// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// As much of CUDA's runtime as a program needs to start; counts the kernels that it registers.
int registered = 0;
extern "C" {
void *__cudaRegisterFatBinary(void *) { return &registered; }
void __cudaRegisterFatBinaryEnd(void *) {}
void __cudaUnregisterFatBinary(void *) {}
void __cudaRegisterFunction(void *, const void *, char *, const char *, int, void *, void *, void *, void *, int *) { ++registered; }
void __cudaRegisterVar(void *, char *, char *, const char *, int, unsigned long, int, int) {}
void __cudaRegisterManagedVar(void *, void **, char *, const char *, int, unsigned long, int, int) {}
unsigned __cudaPushCallConfiguration(unsigned long, unsigned, unsigned long, unsigned, unsigned long, void *) { return 0; }
unsigned __cudaPopCallConfiguration(void *, void *, void *, void *) { return 0; }
int cudaLaunchKernel(const void *, unsigned long, unsigned, unsigned long, unsigned, void **, unsigned long, void *) { return 0; }
}
