// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `stencil_weights MIDDLE [ANYTHING]`: a kernel with a table in constant memory, a number behind a pointer and a struct by
// value, which an argument more changes.
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int count = 1 << 18;

struct Ends {
  int first, last;
};

__constant__ float weights[3];

__global__ void smooth(const float *__restrict__ scale, const float *__restrict__ x, Ends ends, float *__restrict__ y) {
  __shared__ float tile[128];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0;
  for (int k = 0; k < 3; ++k)
    sum += weights[k] * x[i + k];
  tile[threadIdx.x] = sum;
  __syncthreads();
  if (i >= ends.first && i < ends.last)
    y[i] = tile[threadIdx.x] * *scale;
}

template <typename Item> Item *onDevice(const std::vector<Item> &items) {
  Item *pointer;
  cudaMalloc(&pointer, items.size() * sizeof(Item));
  cudaMemcpy(pointer, items.data(), items.size() * sizeof(Item), cudaMemcpyHostToDevice);
  return pointer;
}

int main(int argumentCount, char **arguments) {
  float middle = std::atof(arguments[1]), table[3] = {1, middle, 1}, scale = middle / 4;
  std::vector<float> x(count + 2), y(count);
  for (int i = 0; i < count + 2; ++i)
    x[i] = i % 7;
  Ends ends{argumentCount > 2, count - 1};
  float *out = onDevice(y);
  cudaMemcpyToSymbol(weights, table, sizeof table);
  smooth<<<count / 128, 128>>>(onDevice(std::vector<float>{scale}), onDevice(x), ends, out);
  if (cudaMemcpy(y.data(), out, sizeof(float) * count, cudaMemcpyDeviceToHost) != cudaSuccess)
    return 1;
  bool right = true;
  for (int i = ends.first; i < ends.last; ++i)
    right &= y[i] == (x[i] + middle * x[i + 1] + x[i + 2]) * scale;
  std::printf("%s\n", right ? "right" : "wrong");
  return right ? 0 : 1;
}
