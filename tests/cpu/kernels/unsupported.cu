// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cpu device cannot do, one kernel a macro.
#ifdef INLINE_PTX
__global__ void with_ptx(int *out) { asm("prmt.b32 %0, %1, %1, 0x3210;" : "=r"(out[0]) : "r"(out[1])); }
#elif defined(CALL)
extern __device__ int elsewhere(int);
__global__ void with_call(int *out) { out[0] = elsewhere(1); }
#elif defined(INSTRUCTION)
__global__ void with_instruction(int *out) { out[0] = __nvvm_read_ptx_sreg_pm0(); }
#endif
