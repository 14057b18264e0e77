static __device__ float table[64];
static __device__ float other_table[64];
#ifdef OTHER_WEIGHTS
static __device__ const int weights[4] = {5, 6, 7, 9};
#else
static __device__ const int weights[4] = {5, 6, 7, 8};
#endif
#ifdef UNRELATED
struct Unrelated { int a; };
__constant__ float unrelated[3];
__device__ int helper(Unrelated u) { return u.a; }
__global__ void before(int *x) { *x = helper({3}) + unrelated[1]; }
#endif

#ifdef OTHER_CALLEE
__device__ __noinline__ float scale(float x) { return 3 * x; }
#else
__device__ __noinline__ float scale(float x) { return 2 * x; }
#endif

__global__ void writer(float x) {
  table[threadIdx.x & 63] = x;
  other_table[threadIdx.x & 63] = x;
}

#ifndef PAIR
#define PAIR Pair
#endif
struct PAIR {
  float first;
  int second;
};
__device__ PAIR pair;

__global__ void reader(float *y, int n) {
  PAIR *own = &pair;
  own->second = n;
  own->first = y[n];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
#ifdef OTHER_TABLE
  y[i] = scale(other_table[i & 63]) + weights[i & 3];
#else
  y[i] = scale(table[i & 63]) + weights[i & 3];
#endif
}

void host() {
  void *p;
  cudaGetSymbolAddress(&p, table);
}
