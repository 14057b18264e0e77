// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What HIP's kernels do beyond arithmetic: waves of the GPU's own width, shared memory, constants, atomics, printf, math.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(call)                                                                                          \
  if (hipError_t status = (call)) {                                                                          \
    std::fprintf(stderr, "line %d: %s\n", __LINE__, hipGetErrorString(status));                              \
    std::exit(2);                                                                                            \
  }

struct Pair {
  float factor;
  int offset;
};

__constant__ int table[4];
__device__ int counter;

// Sums over a wave, over a block, over all.
__global__ void sums(const int *in, int *waves, int *total) {
  __shared__ int part[256];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int sum = in[i];
  for (int step = warpSize / 2; step > 0; step /= 2)
    sum += __shfl_down(sum, step);
  if (threadIdx.x % warpSize == 0)
    waves[i / warpSize] = sum;
  part[threadIdx.x] = in[i];
  __syncthreads();
  for (int step = 128; step > 0; step /= 2) {
    if (threadIdx.x < step)
      part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    atomicAdd(total, part[0]);
}

// Lanes part and meet again: each vote is among those who are there.
__global__ void votes(unsigned long long *odd, unsigned long long *all, int *rounds) {
  int lane = threadIdx.x;
  if (lane % 2)
    odd[lane] = __ballot(1);
  int count = 0;
  while (count < lane % 4) // lanes leave the loop at different rounds
    if (__any(1))
      ++count;
  rounds[lane] = count;
  all[lane] = __ballot(lane < 8);
}

__global__ void other(const float *in, float *out, Pair pair, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  out[i] = pair.factor * sinf(in[i]) + sqrtf(in[i]) + table[i % 4] + pair.offset;
  atomicAdd(&counter, 1);
  if (i == 7)
    printf("thread %d of %d: %.2f %s\n", i, n, 1.5, "words");
}

static int wrong = 0;
static void expect(bool good, const char *what) {
  if (!good) {
    std::printf("wrong: %s\n", what);
    ++wrong;
  }
}

int main() {
  hipDeviceProp_t device;
  CHECK(hipGetDeviceProperties(&device, 0));
  const int n = 1024, wave = device.warpSize;
  int host[n], *in, *waves, *total, sum = 0, got;
  for (int i = 0; i < n; ++i)
    sum += host[i] = i % 37;
  CHECK(hipMalloc(&in, sizeof host));
  CHECK(hipMalloc(&waves, sizeof host));
  CHECK(hipMalloc(&total, sizeof(int)));
  CHECK(hipMemset(total, 0, sizeof(int)));
  CHECK(hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice));
  sums<<<n / 256, 256>>>(in, waves, total);
  CHECK(hipMemcpy(&got, total, sizeof got, hipMemcpyDeviceToHost));
  expect(got == sum, "total");
  int parts[n];
  CHECK(hipMemcpy(parts, waves, sizeof parts, hipMemcpyDeviceToHost));
  for (int w = 0; w < n / wave; ++w) {
    int expected = 0;
    for (int i = 0; i < wave; ++i)
      expected += host[w * wave + i];
    expect(parts[w] == expected, "sum of a wave");
  }

  unsigned long long *masks, odd[64], all[64];
  CHECK(hipMalloc(&masks, 2 * sizeof odd));
  hipLaunchKernelGGL(votes, dim3(1), dim3(wave), 0, 0, masks, masks + 64, in);
  CHECK(hipMemcpy(odd, masks, sizeof odd, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(all, masks + 64, sizeof all, hipMemcpyDeviceToHost));
  CHECK(hipMemcpy(host, in, sizeof host, hipMemcpyDeviceToHost));
  for (int lane = 0; lane < wave; ++lane) {
    unsigned long long odds = wave == 64 ? 0xaaaaaaaaaaaaaaaaull : 0xaaaaaaaaull;
    expect(lane % 2 == 0 || odd[lane] == odds, "ballot of the odd lanes");
    expect(all[lane] == 0xff, "ballot of all lanes");
    expect(host[lane] == lane % 4, "rounds");
  }

  const int constants[4] = {10, 20, 30, 40};
  CHECK(hipMemcpyToSymbol(HIP_SYMBOL(table), constants, sizeof constants));
  float x[100], *dx, *dy;
  for (int i = 0; i < 100; ++i)
    x[i] = i * 0.25f;
  CHECK(hipMalloc(&dx, sizeof x));
  CHECK(hipMalloc(&dy, sizeof x));
  CHECK(hipMemcpy(dx, x, sizeof x, hipMemcpyHostToDevice));
  other<<<2, 64>>>(dx, dy, Pair{2.0f, 3}, 100);
  float y[100];
  CHECK(hipMemcpy(y, dy, sizeof y, hipMemcpyDeviceToHost));
  for (int i = 0; i < 100; ++i)
    expect(std::fabs(y[i] - (2 * std::sin(x[i]) + std::sqrt(x[i]) + constants[i % 4] + 3)) < 1e-4f, "math");
  CHECK(hipMemcpyFromSymbol(&got, HIP_SYMBOL(counter), sizeof got));
  expect(got == 100, "counter");
  std::printf("wave %d: %s\n", wave, wrong ? "FAILED" : "passed");
  return wrong ? 1 : 0;
}
