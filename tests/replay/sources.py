"""CUDA sources of small kernels."""

SAXPY = """
extern "C" __global__ void saxpy(int n, double a, const double *x, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = a * x[i] + y[i];
}
"""

STATE = """
static __device__ double state[64];
__constant__ double factor[2];
extern "C" __global__ void write_state(double v) { state[threadIdx.x] = v * threadIdx.x; }
extern "C" __global__ void read_state(double *out) { out[threadIdx.x] = factor[1] * state[threadIdx.x]; }
extern "C" __global__ void advance_state() { state[threadIdx.x] += 1.0; }
"""

FAULTY = """
extern "C" __global__ void scale(double *y, const double *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
#if defined(HANG)
  for (volatile int forever = 1; forever;)
    ;
#elif defined(WILD)
  *(volatile double *)((char *)y + (1ull << 34)) = 1.0;
#elif defined(STRAY)
  y[n + 3] = 1.0;
#elif defined(TRAP)
  __trap();
#endif
#if defined(WRONG)
  y[i] = 3.0 * x[i] + (i == 5);
#elif defined(STRIDE)
  y[i * STRIDE] += 3.0 * x[i];
#elif defined(ACCUMULATE)
  atomicAdd(&y[i], 3.0 * x[i]);
#else
  y[i] = 3.0 * x[i];
#endif
}
"""
