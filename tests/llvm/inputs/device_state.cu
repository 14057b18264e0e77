// What one kernel writes, another reads; the host writes the constants.
static __device__ float table[64];
__constant__ float coefficients[16];
static __constant__ int permutation[8] = {1, 2, 3, 4, 5, 6, 7, 0};
__device__ int counter;
static __device__ int weights[4] = {5, 6, 7, 8};
__device__ float *where = table;

__global__ void writer(const float *x) {
  table[threadIdx.x & 63] = x[threadIdx.x] * coefficients[threadIdx.x & 15];
}

__global__ void reader(float *y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    y[i] = table[i & 63] + coefficients[3] + permutation[i & 7] + weights[i & 3];
  if (i == 0)
    atomicAdd(&counter, 1);
  where[3] += 1;
}

__global__ void counts_calls(float *y) {
  static int calls;
  y[0] = coefficients[1] + calls++;
}

void host() {
  float h[16];
  void *p;
  cudaMemcpyToSymbol(coefficients, h, sizeof h);
  cudaMemcpyToSymbol(permutation, h, 32);
  cudaGetSymbolAddress(&p, table);
}
