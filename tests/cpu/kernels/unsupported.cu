// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// What the cpu device cannot do, beside what it can.
extern __device__ int elsewhere(int);

__global__ void without(int *x) { x[threadIdx.x] = 1; }

__global__ void with_ptx(int *x) {
  if (x[threadIdx.x] == 0) {
    x[threadIdx.x] = 2;
    return;
  }
  unsigned long long policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  x[threadIdx.x] = static_cast<int>(policy);
}

__global__ void with_call(int *x) { x[threadIdx.x] = elsewhere(1); }

__global__ void with_instruction(int *x) { x[threadIdx.x] = __nvvm_read_ptx_sreg_pm0(); }

__global__ void with_barrier(int *x) {
  __syncthreads();
  x[threadIdx.x] = elsewhere(1);
}
