// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A static __device__ array that one kernel writes and another reads: state that lives between launches
// and is reachable from no argument.
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

constexpr int kBins = 64;
static __device__ float weight[kBins];
static __device__ int generation;

__global__ void advance_weights(float growth) {
  int bin = threadIdx.x;
  if (bin < kBins)
    weight[bin] = weight[bin] * growth + float(bin + 1);
  if (bin == 0)
    ++generation;
}

__global__ void apply_weights(int n, float *values) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    values[i] += weight[i % kBins] * float(generation);
}

int main(int argc, char **argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 1 << 15;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 3;
  if (n < 1 || steps < 1 || steps > 8) {
    std::fprintf(stderr, "usage: device_state [elements >= 1] [steps 1 to 8]\n");
    return 2;
  }

  float *device_values;
  const size_t bytes = n * sizeof(float);
  CHECK(cudaMalloc(&device_values, bytes));
  CHECK(cudaMemset(device_values, 0, bytes));
  for (int step = 0; step < steps; ++step) {
    advance_weights<<<1, kBins>>>(2.0f);
    CHECK(cudaGetLastError());
    apply_weights<<<(n + 127) / 128, 128>>>(n, device_values);
    CHECK(cudaGetLastError());
  }
  std::vector<float> values(n);
  CHECK(cudaMemcpy(values.data(), device_values, bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaFree(device_values));

  // The same recurrence on the host; all values stay small integers, so the comparison is exact.
  float expected_weight[kBins] = {}, expected[kBins] = {};
  for (int step = 0; step < steps; ++step)
    for (int bin = 0; bin < kBins; ++bin) {
      expected_weight[bin] = expected_weight[bin] * 2.0f + float(bin + 1);
      expected[bin] += expected_weight[bin] * float(step + 1);
    }
  double sum = 0;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    wrong += values[i] != expected[i % kBins];
    sum += values[i];
  }
  std::printf("device_state: n=%d steps=%d checksum=%.1f %s\n", n, steps, sum, wrong ? "FAILED" : "passed");
  return wrong ? 1 : 0;
}
