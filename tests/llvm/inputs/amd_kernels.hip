// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels whose registers and occupancy AMD's code-generation knobs move. No ROCm header is needed.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))

__device__ inline int thread() { return __builtin_amdgcn_workitem_id_x(); }
__device__ inline int global() { return __builtin_amdgcn_workgroup_id_x() * 256 + thread(); }

// Many values alive at once.
__global__ void polynomials(const float *x, float *y) {
  float v[48];
  for (int i = 0; i < 48; ++i)
    v[i] = x[global() + 1024 * i];
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < 48; ++i)
      v[i] = v[i] * v[(i + 7) % 48] + v[(i + 13) % 48];
  for (int i = 0; i < 48; ++i)
    y[global() + 1024 * i] = v[i];
}

// A register tile of a matrix product.
__global__ void tile(const float *a, const float *b, float *c, int n) {
  float sum[8][8] = {};
  int row = global() / n * 8, column = global() % n * 8;
  for (int k = 0; k < n; ++k)
    for (int i = 0; i < 8; ++i)
      for (int j = 0; j < 8; ++j)
        sum[i][j] += a[(row + i) * n + k] * b[k * n + column + j];
  for (int i = 0; i < 8; ++i)
    for (int j = 0; j < 8; ++j)
      c[(row + i) * n + column + j] = sum[i][j];
}

// A stencil in double precision.
__global__ void stencil(const double *in, double *out, int n) {
  double near[27];
  int at = global();
  for (int i = 0; i < 27; ++i)
    near[i] = in[at + (i % 3 - 1) + (i / 3 % 3 - 1) * n + (i / 9 - 1) * n * n];
  double sum = 0, most = 0;
  for (int i = 0; i < 27; ++i) {
    sum += near[i] * near[26 - i];
    most = __builtin_fmax(most, near[i] - near[(i + 9) % 27]);
  }
  out[at] = sum + most * near[13];
}

// Shared memory and barriers.
__global__ void scan(const int *in, int *out) {
  __shared__ int part[2][256];
  int from = 0;
  part[0][thread()] = in[global()];
  __builtin_amdgcn_s_barrier();
  for (int step = 1; step < 256; step *= 2) {
    int own = part[from][thread()];
    part[1 - from][thread()] = thread() >= step ? own + part[from][thread() - step] : own;
    from = 1 - from;
    __builtin_amdgcn_s_barrier();
  }
  out[global()] = part[from][thread()];
}

// Forces between particles, unrolled.
__global__ void forces(const float *x, const float *y, const float *z, float *f, int n) {
  float fx[4] = {}, fy[4] = {}, fz[4] = {};
  int at = global() * 4;
  for (int j = 0; j < n; ++j)
    for (int i = 0; i < 4; ++i) {
      float dx = x[j] - x[at + i], dy = y[j] - y[at + i], dz = z[j] - z[at + i];
      float square = dx * dx + dy * dy + dz * dz + 1e-6f;
      float inverse = 1.0f / __builtin_sqrtf(square * square * square);
      fx[i] += dx * inverse, fy[i] += dy * inverse, fz[i] += dz * inverse;
    }
  for (int i = 0; i < 4; ++i)
    f[3 * (at + i)] = fx[i], f[3 * (at + i) + 1] = fy[i], f[3 * (at + i) + 2] = fz[i];
}

// A sorting network over values in registers.
__global__ void network(const int *in, int *out) {
  int v[40];
  for (int i = 0; i < 40; ++i)
    v[i] = in[global() + 1024 * i];
  for (int pass = 0; pass < 6; ++pass)
    for (int i = pass % 2; i + 1 < 40; i += 2) {
      int low = v[i] < v[i + 1] ? v[i] : v[i + 1];
      v[i + 1] = v[i] < v[i + 1] ? v[i + 1] : v[i];
      v[i] = low;
    }
  for (int i = 0; i < 40; ++i)
    out[global() + 1024 * i] = v[i];
}
