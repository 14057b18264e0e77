// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Device math. Row by row: one function over all inputs.

extern "C" __global__ void doubles(const double *x, double *out, int n) {
  int i = threadIdx.x;
  double v = x[i];
  int row = 0;
#define ROW(E) out[row++ * n + i] = (E)
  ROW(sin(v)); ROW(cos(v)); ROW(tan(v)); ROW(exp(v)); ROW(log(v)); ROW(log2(v)); ROW(log10(v)); ROW(sqrt(v));
  ROW(cbrt(v)); ROW(rsqrt(v)); ROW(pow(v, 1.5)); ROW(atan2(v, 2.0)); ROW(sinh(v)); ROW(tanh(v)); ROW(erf(v));
  ROW(lgamma(v)); ROW(tgamma(v)); ROW(expm1(v)); ROW(log1p(v)); ROW(hypot(v, 3.0)); ROW(floor(v)); ROW(ceil(v));
  ROW(round(v)); ROW(rint(v)); ROW(trunc(v)); ROW(fmod(v, 0.7)); ROW(fma(v, v, 1.0)); ROW(fmin(v, 1.0));
  ROW(fmax(v, 1.0)); ROW(fabs(v)); ROW(copysign(v, -1.0)); ROW(asin(v / 4)); ROW(acos(v / 4)); ROW(exp2(v));
  ROW(normcdf(v)); ROW(sinpi(v)); ROW(erfc(v)); ROW(atanh(v / 4)); ROW(rcbrt(v)); ROW(norm3d(v, 1.0, 2.0));
}

extern "C" __global__ void floats(const float *x, float *out, int n) {
  int i = threadIdx.x;
  float v = x[i];
  int row = 0;
  ROW(sinf(v)); ROW(cosf(v)); ROW(expf(v)); ROW(logf(v)); ROW(sqrtf(v)); ROW(rsqrtf(v)); ROW(powf(v, 1.5f));
  ROW(__expf(v)); ROW(__sinf(v)); ROW(__logf(v)); ROW(__fdividef(v, 3.0f)); ROW(__saturatef(v)); ROW(fmaf(v, v, 1.0f));
  ROW(fminf(v, 1.0f)); ROW(__frcp_rn(v)); ROW(__fsqrt_rn(v)); ROW(erff(v)); ROW(tanhf(v)); ROW(cbrtf(v));
}

extern "C" __global__ void rounding(const double *x, const double *y, double *out, float *narrow) {
  out[0] = __dadd_rn(*x, *y); out[1] = __dadd_rz(*x, *y); out[2] = __dadd_ru(*x, *y); out[3] = __dadd_rd(*x, *y);
  out[4] = __dmul_ru(*x, *y); out[5] = __ddiv_rd(*x, *y); out[6] = __fma_rz(*x, *y, *x); out[7] = __dsqrt_ru(*x);
  narrow[0] = __double2float_rn(*x); narrow[1] = __double2float_ru(*x); narrow[2] = __double2float_rd(*x);
  narrow[3] = __int2float_rz(16777217); narrow[4] = __int2float_ru(16777217);
  narrow[5] = __nvvm_fma_rz_sat_f(*x, 2.0f, 1.0f);
}

extern "C" __global__ void conversions(const float *x, long long *out, int n) {
  int i = threadIdx.x;
  float v = x[i];
  int row = 0;
  ROW(__float2int_rn(v)); ROW(__float2int_rz(v)); ROW(__float2int_ru(v)); ROW(__float2int_rd(v));
  ROW(__float2uint_rn(v)); ROW(__float2ll_rd(v)); ROW(__float_as_int(v)); ROW(__double2hiint((double)v));
}

extern "C" __global__ void integers(const int *x, const int *y, long long *out, int n) {
  int i = threadIdx.x, a = x[i], b = y[i];
  int row = 0;
  ROW(__popc(a)); ROW(__clz(a)); ROW(__ffs(a)); ROW((long long)__brev(a)); ROW(__mulhi(a, b)); ROW((long long)__umulhi(a, b));
  ROW(min(a, b)); ROW(max(a, b)); ROW(abs(a)); ROW((long long)__byte_perm(a, b, 0x5140)); ROW(__sad(a, b, 9u)); ROW(__dp4a(a, b, 3));
  ROW(__hadd(a, b)); ROW(__mul24(a & 0xffff, 3));
}
