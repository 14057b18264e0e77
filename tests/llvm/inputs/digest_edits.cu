// Edits around a kernel that asserts, calls through a pointer, and uses variables of the unit.
#include <cassert>

typedef float (*Call)(float);
#ifdef OTHER_ORDER
__device__ float square(float x) { return x * x; }
__device__ float twice(float x) { return 2 * x; }
__device__ float offsets[4];
__device__ Call calls[2] = {twice, square};
#else
extern __device__ Call calls[2];
__device__ float offsets[4];
__device__ float twice(float x) { return 2 * x; }
__device__ float square(float x) { return x * x; }
__device__ Call calls[2] = {twice, square};
#endif

#ifdef ANNOTATED
__attribute__((annotate("unrelated"))) __device__ int unrelated(int x) { return x + 1; }
#line 100 "/elsewhere/moved.cu"
#endif

static __device__ float table[64]; // internal: the host uses neither
static __device__ float other_table[64];

__global__ void writer(float x) {
  table[threadIdx.x & 63] = x;
  other_table[threadIdx.x & 63] = x;
}

__global__ void reader(float *y, int n) {
  int i = threadIdx.x;
#ifdef OTHER_ASSERTION
  assert(i <= n);
#else
  assert(i < n);
#endif
#ifdef OTHER_TABLE
  y[i] = calls[i & 1](y[i] + offsets[i & 3]) + other_table[i & 63];
#else
  y[i] = calls[i & 1](y[i] + offsets[i & 3]) + table[i & 63];
#endif
}

void host() {
  void *p;
  cudaGetSymbolAddress(&p, calls);
  cudaGetSymbolAddress(&p, offsets);
}
