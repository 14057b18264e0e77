// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What PTX defines to the bit, and what the host's own instructions do otherwise.

extern "C" __global__ void unfused(float a, float b, float c, float *narrow, double A, double B, double C, double *wide) {
  narrow[0] = __fadd_rn(__fmul_rn(a, b), c);
  narrow[1] = __fsub_rn(__fmul_rn(a, b), -c);
  narrow[2] = __fadd_rn(a * b, c);
  wide[0] = __dadd_rn(__dmul_rn(A, B), C);
  wide[1] = __dsub_rn(__dmul_rn(A, B), -C);
}

extern "C" __global__ void not_numbers(double nan, unsigned long long *out) {
  float f = (float)nan;
  out[0] = (unsigned)__double2int_rz(nan);
  out[1] = __double2uint_rn(nan);
  out[2] = (unsigned long long)__double2ll_rd(nan);
  out[3] = __double2ull_ru(nan);
  out[4] = (unsigned)__float2int_rn(f);
  out[5] = __float2uint_rz(f);
  out[6] = (unsigned long long)__float2ll_rz(f);
  out[7] = __float2ull_rn(f);
}

extern "C" __global__ void roots(const float *x, float *out) { out[threadIdx.x] = __frsqrt_rn(x[threadIdx.x]); }

extern "C" __global__ void zeros(float plus, float minus, float *out) {
  out[0] = fmaxf(plus, minus);
  out[1] = fmaxf(minus, plus);
  out[2] = fminf(plus, minus);
  out[3] = fminf(minus, plus);
}

extern "C" __global__ void brain(const double *x, float *narrowed, float *twice) {
  int i = threadIdx.x;
  narrowed[i] = (float)(__bf16)(float)x[i];
  twice[i] = (float)((__bf16)x[i] + (__bf16)x[i]);
}
