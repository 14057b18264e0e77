// Kernels whose threads read and write memory in one way each.
#define X (blockIdx.x * blockDim.x + threadIdx.x)
#define Y (blockIdx.y * blockDim.y + threadIdx.y)
struct Three {
  double x, y, z;
};
__device__ double *row(double *p, int width, int y) { return p + (size_t)y * width; }
__device__ int clamp(int i, int n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }
extern "C" {
__global__ void transpose(int w, int h, const float *in, float *out) { out[X * h + Y] = in[Y * w + X]; }
__global__ void rows(int w, double *p) {
  const int x = X, y = Y;
  *row(p, w, y) = 1.0;
  row(p, w, y)[x] = 2.0;
}
__global__ void fixed_rows(float *p) { p[Y * 64 + X] = 1.0f; }
__global__ void structs(Three *p) { p[X].y = 1.0; }
__global__ void indirect(const int *at, const double *in, double *out) { out[X] = in[at[X]]; }
__global__ void clamped(int n, float *p) { p[clamp((int)X - 1, n)] = 1.0f; }
__global__ void split(int w, double *p) {
  const int i = X, k = i / w, j = i % w;
  p[k * 2 * w + j] = 1.0;
}
__global__ void grid_stride(int n, double *p) {
  for (int i = X; i < n; i += gridDim.x * blockDim.x)
    p[i] = 1.0;
}
__global__ void backwards(int n, double *p) { p[n - 1 - X] = 1.0; }
__global__ void inner_loop(int n, const double *in, double *out) {
  double sum = 0;
  for (int k = 0; k < n; ++k)
    sum += in[X * 4 + k];
  out[X] = sum;
}
__global__ void counted(int *bins) { atomicAdd(&bins[threadIdx.z], 1); }
__global__ void staged(double *p) {
  __shared__ double tile[32];
  tile[threadIdx.x] = threadIdx.x;
  __syncthreads();
  p[(int)tile[0]] = 1.0;
}
__global__ void followed(float **p) {
  float *q = p[0];
  for (int k = 0; k < 100; ++k)
    q = (float *)(p[(int)*q] + k);
  *q = 1.0f;
}
}
