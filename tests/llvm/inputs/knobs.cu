// Work for every code-generation knob: address arithmetic, adjacent accesses, many live values, libm, fusable sums.
__global__ void knobs(float *y, const float *__restrict__ x, int n, int stride) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sums[8] = {};
  for (int k = 0; k < n; ++k)
    for (int j = 0; j < 8; ++j)
      sums[j] += x[(i + k * stride) * 8 + j] * (x[i] + j) + x[k * stride + j + 1000];
  for (int j = 0; j < 8; ++j)
    y[i * 8 + j] = sums[j] / x[j] + sqrtf(sums[j]) + sinf(sums[7 - j]);
}
