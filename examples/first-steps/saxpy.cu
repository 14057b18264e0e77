// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// y = a x + y on one vector; exits 0 if every element is right.
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

__global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 16;
  if (n < 1) {
    std::fprintf(stderr, "usage: saxpy [elements >= 1]\n");
    return 2;
  }
  const float a = 2.0f;
  std::vector<float> x(n), y(n);
  for (int i = 0; i < n; ++i) {
    x[i] = float(i % 1000);
    y[i] = float(i % 7);
  }

  float *device_x, *device_y;
  const size_t bytes = n * sizeof(float);
  CHECK(cudaMalloc(&device_x, bytes));
  CHECK(cudaMalloc(&device_y, bytes));
  CHECK(cudaMemcpy(device_x, x.data(), bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_y, y.data(), bytes, cudaMemcpyHostToDevice));
  saxpy<<<(n + 255) / 256, 256>>>(n, a, device_x, device_y);
  CHECK(cudaGetLastError());
  CHECK(cudaMemcpy(y.data(), device_y, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_x));
  CHECK(cudaFree(device_y));

  double sum = 0;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    wrong += y[i] != a * float(i % 1000) + float(i % 7); // small integers: exact in float
    sum += y[i];
  }
  std::printf("saxpy: n=%d checksum=%.1f %s\n", n, sum, wrong ? "FAILED" : "passed");
  return wrong ? 1 : 0;
}
