// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the rules are tried on: each kernel takes n, const double *a, const int *index and double *out.
typedef unsigned long long u64;

struct Cell {
  double value[4];
  double width;
};

extern "C" {

__global__ void tree_sum(int n, const double *a, const int *index, double *out) {
  __shared__ double sums[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  sums[threadIdx.x] = i < n ? a[i] : 0.0;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    out[blockIdx.x] = sums[0];
}

__global__ void tree_extreme(int n, const double *a, const int *index, double *out) {
  __shared__ double best[128];
  int t = threadIdx.x;
  int i = blockIdx.x * blockDim.x + t;
  best[t] = i < n ? a[i] : 1e300;
  __syncthreads();
  for (int s = 64; s > 0; s >>= 1) {
    if (t < s) {
      best[t] = fmin(best[t], best[t + s]);
    }
    __syncthreads();
  }
  if (i < n)
    out[i] = a[i] - best[0];
}

__global__ void row_sums(int n, const double *a, const int *index, double *out) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n)
    return;
  double sum = 0.0, largest = -1e300;
  for (int k = row % 7; k < 11 + row % 5; ++k) {
    sum += a[k] * a[(row + k) % n];
    largest = fmax(largest, a[k] - a[row]);
  }
  out[row] = sum + largest;
}

__global__ void powers(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = pow(a[i], 2.0) + pow(a[i] + 1.0, 3.0) + pow(a[i], 0.5) + pow(pow(a[i], 2.0), 1.25);
}

__global__ void lengths(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    out[i] = hypot(a[i], a[(i + 1) % n] - a[i]) + 1.0 / sqrt(a[i]);
}

__global__ void quotients(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const Cell cell{{a[i], 2.0 * a[i], 3.0, 4.0}, a[(i + 3) % n]};
  const double volume = 1.0 + a[i];
  const double first = a[i] / volume, second = 5.0 / volume;
  double total = first * second;
  for (int v = 0; v < 4; ++v)
    total += cell.value[v] / cell.width;
  out[i] = total + i / 2 + (i / n);
}

__global__ void memory_sum(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i] = a[i] * a[index[i]];
  for (int k = 0; k < index[i]; ++k)
    out[i] += a[k] * a[index[i]];
}

__global__ void neighbours(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n / 4)
    return;
  double sum = 0.0;
  for (int c = 0; c < 4; ++c) {
    sum += a[4 * i + c] * index[i * 4 + c];
    out[4 * i + c] = sum;
  }
}

__global__ void nested(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double grid[8][5];
  for (int x = 0; x < 8; ++x)
    for (int y = 0; y < 5; ++y)
      grid[x][y] = a[(i + x * 5 + y) % n];
  double left = 0.0, right = 0.0;
  for (size_t x = 0; x < 8; ++x)
    left += grid[x][0];
  for (size_t x = 0; x < 8; ++x)
    right += grid[x][4];
  for (int y = 0; y < 5; ++y) {
    if (y == 0)
      left *= 0.5;
    right += grid[7][y];
  }
  if (i < n)
    out[i] = left - right;
}

__device__ double limited(double a, double b) {
  if (a * b <= 0.0)
    return 0.0;
  return fabs(a) < fabs(b) ? a : b;
}

__global__ void selections(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double value = limited(a[i] - 1.0, a[(i + 1) % n] - 1.0);
  if (index[i] & 1)
    value = 0.25 - value;
  out[i] = value;
}

__global__ void smoothed(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n - 2)
    return;
  double value = a[i] - 2.0 * a[i + 1] + a[i + 2];
  out[i] = value * index[i];
}

__device__ Cell face(const double *a, int n, int at, double scale) {
  return {{a[at % n] * scale, sqrt(a[(at + 1) % n]), 3.0, 4.0}, 1.0};
}

__global__ void fluxes(int n, const double *a, const int *index, double *out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= n - 1 || k >= 1)
    return;
  const int at = k * n + i;
  Cell low = face(a, n, at, 0.5);
  Cell high = face(a, n, at + 1, 0.5);
  Cell here = face(a, n, at, a[i]);
  Cell next = face(a, n, at + 1, a[i + 1]);
  out[i] = low.value[0] - high.value[1] + here.value[0] * next.value[1];
}
}
