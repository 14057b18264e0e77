// Work for every code-generation knob: address arithmetic, adjacent accesses, many live values, division, square roots,
// fusable sums.
struct __align__(16) Four {
  float a, b, c, d;
};

__global__ void knobs(float *y, const float *__restrict__ x, const Four *f, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sums[8] = {};
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < 8; ++j)
      sums[j] += x[(i + k * stride) * 8 + j] * (x[i] + j) + x[k * stride + j + 1000];
  sums[0] += f[i].a + f[i].b * f[i].c - f[i].d;
  for (int j = 0; j < 8; ++j)
    y[i * 8 + j] = sums[j] / x[j] + __builtin_sqrtf(sums[j]) + sinf(sums[7 - j]);
}
