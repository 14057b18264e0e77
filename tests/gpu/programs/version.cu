// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `version ROUNDS`: a kernel whose loop gains by a known count, and state that two kernels share.
#include <cstdio>
#include <cstdlib>

constexpr int count = 1 << 20;
static __device__ double calls;

__global__ void scale(int rounds, double by, double *x) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rounds; ++k)
    x[i] = x[i] * by;
  if (i == 0)
    calls += 1;
}

__global__ void add(double *x) { x[blockIdx.x * blockDim.x + threadIdx.x] += calls; }

int main(int, char **arguments) {
  int rounds = std::atoi(arguments[1]);
  double *host = static_cast<double *>(std::malloc(sizeof(double) * count)), *x;
  for (int i = 0; i < count; ++i)
    host[i] = 1;
  cudaMalloc(&x, sizeof(double) * count);
  cudaMemcpy(x, host, sizeof(double) * count, cudaMemcpyHostToDevice);
  scale<<<count / 256, 256>>>(rounds, 2.0, x);
  add<<<count / 256, 256>>>(x);
  if (cudaMemcpy(host, x, sizeof(double) * count, cudaMemcpyDeviceToHost) != cudaSuccess)
    return 1;
  bool right = true;
  for (int i = 0; i < count; ++i)
    right &= host[i] == (1 << rounds) + 1;
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
