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

extern "C" __global__ void operands_in_any_order(float a, float b, float *out) {
  asm("sub.f32 %0, %2, %1;" : "=f"(out[0]) : "f"(a), "f"(b));
  asm("add.f32 %0, %1, %1;" : "=f"(out[1]) : "f"(a));
  asm("fma.rn.f32 %0, %3, %1, %2;" : "=f"(out[2]) : "f"(a), "f"(b), "f"(10.0f));
}

extern "C" __global__ void funnels(const unsigned *in, unsigned *out) {
  int t = threadIdx.x;
  unsigned low = in[0], high = in[1];
  out[t] = __funnelshift_l(low, high, t);
  out[64 + t] = __funnelshift_r(low, high, t);
  out[128 + t] = __funnelshift_lc(low, high, t);
  out[192 + t] = __funnelshift_rc(low, high, t);
}

extern "C" __global__ void halves(int a, int b, int *out) {
  out[0] = __dp2a_lo(a, b, 5);
  out[1] = __dp2a_hi(a, b, 5);
  out[2] = (int)__dp2a_lo((unsigned)a, (unsigned)b, 5u);
}

extern "C" __global__ void hints(const float *x, const signed char *bytes, const double2 *pairs, double *out, float *y) {
  int t = threadIdx.x;
  double2 pair = __ldcg(pairs + t);
  float4 four = __ldcs((const float4 *)x + t % 8);
  out[t] = __ldcv(x + t) + __ldcg(bytes + t) + pair.x * pair.y + four.x + four.w;
  __stwt((float2 *)y + t, make_float2(t, -t));
  asm volatile("st.global.cs.s8 [%0], %1;" : : "l"((char *)y + 256 + t), "r"(300 + t) : "memory");
}

extern "C" __global__ void one_way(int *out) {
  int t = threadIdx.x;
  if (t < 32) {
    out[t] = t;
    asm volatile("bar.arrive 1, 64;" : : : "memory");
  } else {
    asm volatile("bar.sync %0, %1;" : : "r"(1), "n"(64) : "memory");
    out[t] = out[t - 32] + 100;
  }
}

// As libcu++ and cooperative groups spell them.
extern "C" __global__ void atomics(int *words, unsigned long long *wide, float *sums, int *before) {
  int t = threadIdx.x, old;
  unsigned long long seen;
  asm volatile("atom.add.relaxed.gpu.s32 %0,[%1],%2;" : "=r"(old) : "l"(words), "r"(t) : "memory");
  asm volatile("atom.min.acq_rel.cta.s32 %0,[%1],%2;" : "=r"(old) : "l"(words + 1), "r"(t - 5) : "memory");
  asm volatile("atom.relaxed.sys.global.min.u32 %0, [%1], %2;" : "=r"(old) : "l"(words + 2), "r"(t - 5) : "memory");
  asm volatile("red.or.release.cta.b32 [%0],%1;" : : "l"(words + 3), "r"(1 << t % 32) : "memory");
  asm volatile("atom.global.inc.u32 %0, [%1], %2;" : "=r"(before[t]) : "l"(words + 4), "r"(10) : "memory");
  asm volatile("red.add.global.f32 [%0], %1;" : : "l"(sums), "f"(0.5f) : "memory");
  asm volatile("atom.cas.acquire.gpu.b64 %0,[%1],%2,%3;" : "=l"(seen) : "l"(wide), "l"(0ull), "l"(7ull) : "memory");
  asm volatile("membar.gl;" : : : "memory");
  asm volatile("fence.acq_rel.gpu;" : : : "memory");
}

// A test of the address first, which leads to the same in either case: memory of the block, and that of all.
extern "C" __global__ void atomics_of_any_space(int *total, int *swapped) {
  __shared__ int block;
  if (threadIdx.x == 0)
    block = 0;
  __syncthreads();
  int *sums[] = {&block, total};
  for (int *sum : sums)
    asm volatile("{\n\t.reg .pred p;\n\tisspacep.global p, %0;\n\t@p  red.add.global.relaxed.gpu.s32 [%0],%1;\n\t"
                 "@!p red.add.relaxed.gpu.s32 [%0],%1;\n\t}\n\t"
                 : : "l"(sum), "r"(int(threadIdx.x)) : "memory");
  __syncthreads();
  if (threadIdx.x == 0)
    asm volatile("{\n\t.reg .pred p;\n\tisspacep.global p, %1;\n\t@p  atom.exch.global.relaxed.gpu.b32 %0,[%1],%2;\n\t"
                 "@!p atom.exch.relaxed.gpu.b32 %0,[%1],%2;\n\t}\n\t"
                 : "=r"(*swapped) : "l"(&block), "r"(1) : "memory");
}

// The first thread waits for the others, which come after it.
extern "C" __global__ void waits(int *word, int *out) {
  if (threadIdx.x == 0) {
    int found;
    do
      asm volatile("ld.acquire.cta.u32 %0,[%1];" : "=r"(found) : "l"(word) : "memory");
    while (found != blockDim.x - 1);
    *out = found;
  } else {
    asm volatile("red.add.release.cta.s32 [%0],%1;" : : "l"(word), "r"(1) : "memory");
  }
}
