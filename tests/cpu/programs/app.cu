// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Uses what programs use of the CUDA runtime, checks itself, and prints "ok" or what is wrong.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define CHECK(condition)                                                                                               \
  do {                                                                                                                 \
    if (!(condition)) {                                                                                                \
      std::printf("line %d: %s (%s)\n", __LINE__, #condition, cudaGetErrorString(cudaGetLastError()));                \
      std::exit(1);                                                                                                    \
    }                                                                                                                  \
  } while (0)
#define OK(call) CHECK((call) == cudaSuccess)

__constant__ float table[4];
static __device__ int counter;

__global__ void scale(int n, float *x, float f) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    x[i] = x[i] * f + table[i & 3];
    atomicAdd(&counter, 1);
  }
}

__global__ void total(const float *x, int n, float *out) {
  __shared__ float part[32];
  float sum = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x)
    sum += x[i];
  for (int step = 16; step > 0; step /= 2)
    sum += __shfl_down_sync(0xffffffffu, sum, step);
  if (threadIdx.x % 32 == 0)
    part[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x == 0) {
    sum = 0;
    for (int w = 0; w < blockDim.x / 32; ++w)
      sum += part[w];
    *out = sum;
  }
}

static void kernelsAndSymbols() {
  const int n = 1000;
  std::vector<float> host(n, 2.0f);
  const float values[4] = {1, 2, 3, 4};
  float *x, *out, sum;
  int seen;
  OK(cudaMalloc(&x, n * sizeof(float)));
  OK(cudaMallocManaged(&out, sizeof(float)));
  OK(cudaMemcpy(x, host.data(), n * sizeof(float), cudaMemcpyHostToDevice));
  OK(cudaMemcpyToSymbol(table, values, sizeof values));
  for (int k = 0; k < 3; ++k)
    scale<<<8, 128>>>(n, x, 2.0f);
  total<<<1, 256>>>(x, n, out);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDefault));
  OK(cudaMemcpyFromSymbol(&seen, counter, sizeof seen));
  CHECK(sum == 1000 * 16.0f + 7 * 250 * (1 + 2 + 3 + 4));
  CHECK(seen == 3 * n);
  float *address;
  size_t size;
  OK(cudaGetSymbolAddress((void **)&address, table));
  OK(cudaGetSymbolSize(&size, table));
  CHECK(size == sizeof values && address[2] == 3.0f);
  OK(cudaFree(x));
  OK(cudaFree(out));
}

static void copies() {
  char host[6][10], back[6][10] = {}, *device;
  for (int i = 0; i < 60; ++i)
    host[i / 10][i % 10] = (char)i;
  size_t pitch;
  OK(cudaMallocPitch(&device, &pitch, 10, 6));
  OK(cudaMemset2D(device, pitch, 0, 10, 6));
  OK(cudaMemcpy2D(device, pitch, host, 10, 10, 6, cudaMemcpyHostToDevice));
  OK(cudaMemcpy2D(back, 10, device, pitch, 10, 6, cudaMemcpyDeviceToHost));
  CHECK(std::memcmp(host, back, 60) == 0);
  OK(cudaFree(device));

  cudaPitchedPtr volume;
  OK(cudaMalloc3D(&volume, make_cudaExtent(5, 3, 4)));
  cudaMemcpy3DParms p = {};
  p.srcPtr = make_cudaPitchedPtr(host, 5, 5, 3);
  p.dstPtr = volume;
  p.extent = make_cudaExtent(5, 3, 4);
  p.kind = cudaMemcpyHostToDevice;
  OK(cudaMemcpy3D(&p));
  char rows[60] = {};
  p.dstPtr = make_cudaPitchedPtr(rows, 5, 5, 3);
  p.srcPtr = volume;
  p.kind = cudaMemcpyDeviceToHost;
  OK(cudaMemcpy3D(&p));
  CHECK(std::memcmp(host, rows, 60) == 0);
  OK(cudaFree(volume.ptr));
}

static void streamsAndEvents() {
  cudaStream_t stream;
  cudaEvent_t start, stop;
  float *x, milliseconds = -1;
  OK(cudaStreamCreate(&stream));
  OK(cudaEventCreate(&start));
  OK(cudaEventCreate(&stop));
  OK(cudaMallocAsync(&x, 400, stream));
  OK(cudaEventRecord(start, stream));
  OK(cudaMemsetAsync(x, 0, 400, stream));
  scale<<<1, 100, 0, stream>>>(100, x, 1.0f);
  OK(cudaEventRecord(stop, stream));
  OK(cudaStreamWaitEvent(stream, stop, 0));
  OK(cudaEventSynchronize(stop));
  OK(cudaEventElapsedTime(&milliseconds, start, stop));
  CHECK(milliseconds >= 0);
  OK(cudaFreeAsync(x, stream));
  OK(cudaStreamSynchronize(stream));
  OK(cudaEventDestroy(start));
  OK(cudaEventDestroy(stop));
  OK(cudaStreamDestroy(stream));
}

static void questions() {
  int count, device, value, version, blocks;
  cudaDeviceProp properties;
  cudaFuncAttributes attributes;
  OK(cudaGetDeviceCount(&count));
  OK(cudaSetDevice(0));
  OK(cudaGetDevice(&device));
  CHECK(count == 1 && device == 0);
  OK(cudaGetDeviceProperties(&properties, 0));
  CHECK(properties.warpSize == 32 && properties.maxThreadsPerBlock == 1024 && properties.totalGlobalMem > 0);
  CHECK(properties.hostRegisterSupported == 1 && properties.maxBlocksPerMultiProcessor == 32);
  OK(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0));
  CHECK(value == properties.multiProcessorCount);
  OK(cudaRuntimeGetVersion(&version));
  CHECK(version / 1000 == CUDART_VERSION / 1000);
  OK(cudaFuncGetAttributes(&attributes, total));
  CHECK(attributes.sharedSizeBytes == 128 && attributes.maxThreadsPerBlock == 1024);
  OK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, total, 256, 0));
  CHECK(blocks > 0);
  CHECK(cudaSetDevice(1) == cudaErrorInvalidDevice);
  CHECK(cudaGetLastError() == cudaErrorInvalidDevice && cudaGetLastError() == cudaSuccess);
  scale<<<1, 2000>>>(0, nullptr, 0.0f);
  CHECK(cudaGetLastError() == cudaErrorInvalidConfiguration);
}

int main(int argc, char **) {
  kernelsAndSymbols();
  copies();
  streamsAndEvents();
  questions();
  if (argc > 1) {
    cudaGraph_t graph;
    CHECK(cudaGraphCreate(&graph, 0) == cudaErrorNotSupported);
  }
  std::puts("ok");
}
