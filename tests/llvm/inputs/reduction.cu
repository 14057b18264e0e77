__global__ void __launch_bounds__(256, 2) reduce(const double *x, double *sum, int n) {
  __shared__ double s[256]; extern __shared__ double dyn[];
  double v = 0; for (int i = blockIdx.x*blockDim.x+threadIdx.x; i < n; i += gridDim.x*blockDim.x) v += x[i];
  s[threadIdx.x] = v; dyn[threadIdx.x] = v; __syncthreads();
  for (int w = blockDim.x/2; w >= 32; w /= 2) { if (threadIdx.x < w) s[threadIdx.x] += s[threadIdx.x+w]; __syncthreads(); }
  if (threadIdx.x < 32) { v = s[threadIdx.x] + dyn[0]; for (int o = 16; o; o /= 2) v += __shfl_down_sync(~0u, v, o); if (threadIdx.x == 0) atomicAdd(sum, v); }
}
template <int N> __global__ void stencil(const float *__restrict__ a, float *__restrict__ b, int nx, int ny) {
  __shared__ float t[N+2][N+2]; int x = blockIdx.x*N+threadIdx.x, y = blockIdx.y*N+threadIdx.y;
  t[threadIdx.y+1][threadIdx.x+1] = a[y*nx+x]; __syncthreads();
  float s = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i) for (int j = 0; j < 3; ++j) s += t[threadIdx.y+i][threadIdx.x+j];
  b[y*nx+x] = s / 9; if (s < 0) printf("neg %f\n", s);
}
template __global__ void stencil<16>(const float*, float*, int, int);
template __global__ void stencil<32>(const float*, float*, int, int);
