// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Thread places, grids, shared memory, barriers.

extern "C" __global__ void saxpy(int n, float a, const float *x, float *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}

// One word a thread of a 3D grid: its whole place, packed.
extern "C" __global__ void places(unsigned long long *out) {
  unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  unsigned z = blockIdx.z * blockDim.z + threadIdx.z;
  unsigned width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  out[(z * height + y) * width + x] = x | (unsigned long long)y << 20 | (unsigned long long)z << 40;
}

extern "C" __global__ void block_sum(const double *x, double *out) {
  __shared__ double part[256];
  int t = threadIdx.x;
  part[t] = x[blockIdx.x * blockDim.x + t];
  __syncthreads();
  for (int step = blockDim.x / 2; step > 0; step /= 2) {
    if (t < step)
      part[t] += part[t + step];
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = part[0];
}

extern __shared__ int scratch[];

// Static and dynamic shared memory together: reverses each block's part.
extern "C" __global__ void reverse(const int *in, int *out) {
  __shared__ int offset;
  if (threadIdx.x == 0)
    offset = blockIdx.x * blockDim.x;
  scratch[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  out[offset + threadIdx.x] = scratch[blockDim.x - 1 - threadIdx.x];
}

// Threads that have returned take no part in later barriers.
extern "C" __global__ void early_exit(int live, int *out) {
  __shared__ int total;
  if (threadIdx.x == 0)
    total = 0;
  __syncthreads();
  if (threadIdx.x >= live)
    return;
  atomicAdd(&total, 1);
  __syncthreads();
  out[threadIdx.x] = total;
}

extern "C" __global__ void barrier_reductions(const int *in, int *out) {
  int v = in[threadIdx.x];
  int count = __syncthreads_count(v);
  int all = __syncthreads_and(v);
  int any = __syncthreads_or(v);
  out[threadIdx.x] = count * 4 + (all != 0) * 2 + (any != 0);
}

// Half of the block waits at a barrier, the other half for lanes that will never vote.
extern "C" __global__ void deadlock(int *out) {
  if (threadIdx.x < 16)
    __syncthreads();
  else
    out[threadIdx.x] = __ballot_sync(0xffffffffu, 1);
}

extern "C" __global__ void __launch_bounds__(64) bounded(int *out) { out[threadIdx.x] = threadIdx.x; }

extern "C" __global__ void private_array(const int *in, int *out, int n) {
  int i = threadIdx.x;
  int mine[8];
  for (int k = 0; k < 8; ++k)
    mine[k] = in[(i + k) % n];
  int picked = 0;
  for (int k = 0; k < 8; ++k)
    picked = picked * 3 + mine[(in[i] + k) & 7];
  out[i] = picked;
}

// The threads that a named barrier expects are counted by whole warps.
extern "C" __global__ void whole_warps(int *out) {
  __barrier_sync_count(2, (blockDim.x + 31) / 32 * 32);
  out[threadIdx.x] = 1;
}

extern "C" __global__ void aligned_shared(unsigned long long *out) {
  __shared__ __align__(1024) char tile[1024];
  __shared__ char odd[3];
  extern __shared__ __align__(1024) char more[];
  odd[threadIdx.x % 3] = 1;
  tile[threadIdx.x] = more[threadIdx.x] = odd[0];
  __syncthreads();
  out[0] = (unsigned long long)tile % 1024 + tile[3] - more[3];
  out[1] = (unsigned long long)more % 1024;
}

struct alignas(64) Line {
  float values[16];
};

extern "C" __global__ void wide_parameters(char before, Line line, float *out) {
  for (int i = 0; i < 16; ++i)
    out[threadIdx.x * 16 + i] = line.values[i];
}
