// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// shapes EDGE: launches each kernel of shapes_kernels.cuh on fields of about EDGE * EDGE floats, with a usual
// block.
#include "shapes_kernels.cuh"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

static unsigned over(int extent, unsigned block) { return (extent + block - 1) / block; }

int main(int argc, char **argv) {
  const int edge = argc > 1 ? std::atoi(argv[1]) : 256;
  const int cube = edge >= 4096 ? 256 : edge >= 512 ? 64 : 32;
  const size_t cells = std::max<size_t>(size_t(edge) * edge, size_t(cube) * cube * cube);
  std::vector<float> values(cells);
  for (size_t i = 0; i < cells; ++i)
    values[i] = float(i % 1000) / 1000.0f;
  float *in = nullptr, *out = nullptr;
  cudaMalloc(&in, cells * sizeof(float));
  cudaMalloc(&out, cells * sizeof(float));
  cudaMemcpy(in, values.data(), cells * sizeof(float), cudaMemcpyHostToDevice);
  cudaMemcpy(out, values.data(), cells * sizeof(float), cudaMemcpyHostToDevice);

  const int count = edge * edge;
  const dim3 plane(over(edge, 16), over(edge, 16)), square(16, 16);
  saxpy<<<over(count, 256), 256>>>(count, 2.0f, in, out);
  transpose<<<plane, square>>>(edge, edge, in, out);
  blur<<<plane, square>>>(edge, edge, in, out);
  diffuse<<<dim3(over(cube, 8), over(cube, 8), over(cube, 4)), dim3(8, 8, 4)>>>(cube, cube, cube, in, out);

  cudaMemcpy(values.data(), out, cells * sizeof(float), cudaMemcpyDeviceToHost);
  const cudaError_t status = cudaGetLastError();
  std::printf("%s %g\n", cudaGetErrorString(status), double(values[cells / 2]));
  return status == cudaSuccess ? 0 : 1;
}
