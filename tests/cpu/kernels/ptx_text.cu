// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Inline PTX as CUB spells it.

extern "C" __global__ void shifts_and_masks(const unsigned *in, unsigned *out, int n) {
  unsigned t = threadIdx.x, v, left, right, mask;
  asm("ld.global.nc.u32 %0, [%1];" : "=r"(v) : "l"(in + t));
  asm("shl.b32 %0, %1, %2;" : "=r"(left) : "r"(v), "r"(t));
  asm("shr.b32 %0, %1, %2;" : "=r"(right) : "r"(v), "r"(t));
  asm("bmsk.clamp.b32 %0, %1, %2;" : "=r"(mask) : "r"(4u), "r"(t));
  out[t] = left;
  out[n + t] = right;
  out[2 * n + t] = mask;
}

extern "C" __global__ void scan_step(const int *in, int *out) {
  int t = threadIdx.x, v = in[t], sum;
  asm volatile("{  .reg .s32 r0;  .reg .pred p;  shfl.sync.up.b32 r0|p, %1, %2, %3, %5;"
               "  @p add.s32 r0, r0, %4;  mov.s32 %0, r0;}"
               : "=r"(sum)
               : "r"(v), "r"(1), "r"(0), "r"(v), "r"(~0u));
  out[t] = sum;
}
