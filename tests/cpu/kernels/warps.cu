// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Shuffles, votes, masks, match, reductions of a warp.

extern "C" __global__ void shuffles(const int *in, int *out, int n, int width) {
  int t = threadIdx.x, v = in[t];
  out[0 * n + t] = __shfl_up_sync(~0u, v, 3, width);
  out[1 * n + t] = __shfl_down_sync(~0u, v, 3, width);
  out[2 * n + t] = __shfl_xor_sync(~0u, v, 5, width);
  out[3 * n + t] = __shfl_sync(~0u, v, t * 7, width);
}

extern "C" __global__ void shuffle_types(double *d, long long *l, float *f) {
  int t = threadIdx.x;
  d[t] = __shfl_down_sync(~0u, d[t], 1);
  l[t] = __shfl_xor_sync(~0u, l[t], 16);
  f[t] = __shfl_sync(~0u, f[t], 31);
}

extern "C" __global__ void warp_sum(const float *in, float *out) {
  float v = in[blockIdx.x * blockDim.x + threadIdx.x];
  for (int d = 16; d > 0; d /= 2)
    v += __shfl_down_sync(0xffffffffu, v, d);
  if (threadIdx.x % 32 == 0)
    atomicAdd(out, v);
}

// Odd and even lanes shuffle among themselves, in different branches.
extern "C" __global__ void partial_masks(int *out) {
  int t = threadIdx.x, v;
  if (t & 1)
    v = __shfl_xor_sync(0xaaaaaaaau, t, 2);
  else
    v = 100 + __shfl_xor_sync(0x55555555u, t, 4);
  __syncwarp();
  out[t] = v;
}

extern "C" __global__ void votes(const int *in, unsigned *out, int n) {
  int t = threadIdx.x, v = in[t];
  out[0 * n + t] = __all_sync(~0u, v > 0);
  out[1 * n + t] = __any_sync(~0u, v > 5);
  out[2 * n + t] = __ballot_sync(~0u, v & 1);
  out[3 * n + t] = __uni_sync(~0u, v > 0);
}

extern "C" __global__ void matches(const int *in, unsigned *out, int n) {
  int t = threadIdx.x, same = 0;
  out[0 * n + t] = __match_any_sync(~0u, in[t]);
  out[1 * n + t] = __match_all_sync(~0u, in[t], &same);
  out[2 * n + t] = same;
  out[3 * n + t] = __match_all_sync(~0u, 7ll, &same);
}

extern "C" __global__ void reductions(const int *in, int *out, int n) {
  int t = threadIdx.x, v = in[t];
  out[0 * n + t] = __reduce_add_sync(~0u, v);
  out[1 * n + t] = __reduce_min_sync(~0u, v);
  out[2 * n + t] = __reduce_max_sync(~0u, v);
  out[3 * n + t] = (int)__reduce_xor_sync(~0u, (unsigned)v);
}

// Lanes of one branch find one another by __activemask, and elect a leader that counts for all.
extern "C" __global__ void aggregate(const int *in, int *counter, unsigned *masks) {
  int t = threadIdx.x;
  if (in[t] & 1) {
    unsigned active = __activemask();
    masks[t] = active;
    if (__popc(active & ((1u << (t & 31)) - 1)) == 0)
      atomicAdd(counter, __popc(active));
  } else {
    masks[t] = 0;
  }
}

// The last warp of the block is not full.
extern "C" __global__ void ragged(int *out) {
  int t = threadIdx.x;
  out[t] = __popc(__ballot_sync(~0u, 1));
}

extern "C" __global__ void lanes(unsigned *out, int n) {
  unsigned t = threadIdx.x, lane, mask;
  asm("mov.u32 %0, %%laneid;" : "=r"(lane));
  asm("mov.u32 %0, %%lanemask_lt;" : "=r"(mask));
  out[0 * n + t] = lane;
  out[1 * n + t] = mask;
  out[2 * n + t] = warpSize;
}

// Code that asks for its lanes is inlined, where addresses of shared memory become constants.
__device__ __noinline__ int *slot(int i) {
  __shared__ int words[64];
  words[63 - i] = __popc(__activemask());
  return (int *)((unsigned long long)words + 4 * i);
}

extern "C" __global__ void lanes_in_shared_memory(int *out) {
  int *own = slot(threadIdx.x);
  __syncthreads();
  out[threadIdx.x] = *own + __isShared(own);
}
