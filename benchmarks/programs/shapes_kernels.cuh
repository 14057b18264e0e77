// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Kernels whose time depends on their block's shape. No host code: Kernel Tuner compiles this text as it is.
#pragma once

// One axis, two streams of memory.
extern "C" __global__ void saxpy(int count, float factor, const float *x, float *y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count)
    y[i] = factor * x[i] + y[i];
}

// Two axes, one of which is strided: wide blocks read well, tall ones write well.
extern "C" __global__ void transpose(int width, int height, const float *in, float *out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < width && y < height)
    out[x * height + y] = in[y * width + x];
}

// Two axes, neighbours shared through the cache.
extern "C" __global__ void blur(int width, int height, const float *in, float *out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < 2 || y < 2 || x >= width - 2 || y >= height - 2)
    return;
  float sum = 0.0f;
  for (int dy = -2; dy <= 2; ++dy)
    for (int dx = -2; dx <= 2; ++dx)
      sum += in[(y + dy) * width + x + dx];
  out[y * width + x] = sum / 25.0f;
}

// Three axes.
extern "C" __global__ void diffuse(int nx, int ny, int nz, const float *in, float *out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
            z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < 1 || y < 1 || z < 1 || x >= nx - 1 || y >= ny - 1 || z >= nz - 1)
    return;
  const int i = (z * ny + y) * nx + x, layer = nx * ny;
  out[i] = in[i] + 0.1f * (in[i - 1] + in[i + 1] + in[i - nx] + in[i + nx] + in[i - layer] + in[i + layer] -
                           6 * in[i]);
}
