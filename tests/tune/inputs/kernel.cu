// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel in which every knob and every pass of the vocabulary has something to do. kernel.ll is made from it with
//   clang++-22 -x cuda --cuda-device-only --cuda-gpu-arch=sm_90 -nocudainc -nocudalib -O3 -Xclang -disable-llvm-passes \
//     -emit-llvm -S kernel.cu -o kernel.ll
#define __device__ __attribute__((device))
#define __global__ __attribute__((global))
#define __shared__ __attribute__((shared))

static __device__ float mix(float x, float y, int k) {
  float sum = x;
  for (int step = 0; step < k; ++step) {
    if (step % 3 == 0)
      sum = __builtin_sqrtf(sum * sum + y);
    else if (step % 3 == 1)
      sum = sum / (y + 2.0f);
    else
      sum = sum * x + y;
    for (int twist = 0; twist < 40; ++twist)
      sum = sum * y + (twist & 3 ? x : sum);
    switch (k & 7) {
    case 0: sum += 1.0f; break;
    case 1: sum -= x * y; break;
    case 2: sum *= 0.5f; break;
    case 3: sum = sum > 10.0f ? y : sum; break;
    case 4: sum += y / 3.0f; break;
    default: break;
    }
  }
  return sum;
}

__global__ void kernel(float *__restrict out, const float *__restrict in, const float *__restrict table, int n, int m) {
  __shared__ float tile[256];
  int lane = __nvvm_read_ptx_sreg_tid_x();
  int i = __nvvm_read_ptx_sreg_ctaid_x() * __nvvm_read_ptx_sreg_ntid_x() + lane;
  tile[lane & 255] = i < n ? in[i] : 0.0f;
  __syncthreads();
  if (i >= n)
    return;
  float sum = 0.0f;
  for (int j = 0; j < m; ++j)
    sum += table[i + j * n] * tile[(lane + j) & 255];
  float *row = (float *)__builtin_assume_aligned(out + i * 8, 32);
  const float *column = (const float *)__builtin_assume_aligned(in + i * 8, 32);
  for (int j = 0; j < 8; ++j)
    row[j] = column[j] * sum + (float)j;
  row[0] = mix(row[0], sum, m) + mix(row[1], sum, m + 1) + mix(row[2], in[i], n);
}
