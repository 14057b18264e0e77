// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// __constant__ tables: one with an initialiser, two filled by the host before the launch, one of them changed
// between two launches of the same kernel.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));        \
      std::exit(2);                                                                                          \
    }                                                                                                        \
  } while (0)

constexpr int kDegree = 6;
constexpr int kRows = 32;

static __constant__ int powers_of_three[4] = {1, 3, 9, 27};
static __constant__ double coefficient[kDegree];
__constant__ double row_scale[kRows];

__global__ void evaluate_polynomial(int n, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  double value = 0.0;
  for (int k = kDegree - 1; k >= 0; --k)
    value = value * x[i] + coefficient[k];
  y[i] += value * row_scale[i % kRows] + powers_of_three[i % 4];
}

static void set_coefficients(double factor, double *host) {
  for (int k = 0; k < kDegree; ++k)
    host[k] = factor / (k + 1);
  CHECK(cudaMemcpyToSymbol(coefficient, host, kDegree * sizeof(double)));
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 15;
  if (n < 1) {
    std::fprintf(stderr, "usage: constant_tables [elements >= 1]\n");
    return 2;
  }
  double scale[kRows];
  for (int row = 0; row < kRows; ++row)
    scale[row] = 1.0 + 0.125 * row;
  CHECK(cudaMemcpyToSymbol(row_scale, scale, sizeof(scale)));

  std::vector<double> x(n), y(n), expected(n, 0.0);
  for (int i = 0; i < n; ++i)
    x[i] = double(i % 257) / 257;
  double *device_x, *device_y;
  const size_t bytes = n * sizeof(double);
  CHECK(cudaMalloc(&device_x, bytes));
  CHECK(cudaMalloc(&device_y, bytes));
  CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemset(device_y, 0, bytes));

  const int power[4] = {1, 3, 9, 27};
  for (double factor : {1.0, -0.5}) {
    double host[kDegree];
    set_coefficients(factor, host);
    evaluate_polynomial<<<(n + 255) / 256, 256>>>(n, device_x, device_y);
    CHECK(cudaGetLastError());
    for (int i = 0; i < n; ++i) {
      double value = 0.0;
      for (int k = kDegree - 1; k >= 0; --k)
        value = value * x[i] + host[k];
      expected[i] += value * scale[i % kRows] + power[i % 4];
    }
  }
  CHECK(cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));

  double sum = 0, worst = 0;
  for (int i = 0; i < n; ++i) {
    worst = std::fmax(worst, std::fabs(y[i] - expected[i]) / std::fabs(expected[i]));
    sum += y[i];
  }
  const bool passed = worst < 1e-13; // contraction may round differently from the host
  std::printf("constant_tables: n=%d checksum=%.9e error=%.1e %s\n", n, sum, worst,
              passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
