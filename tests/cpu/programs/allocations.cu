// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One kernel for each way to get memory; prints the name of each way and what its kernel made of it, or that
// the way isn't there.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

constexpr int N = 3000;

#define OK(call)                                                                                             \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      std::printf("line %d: %s: %s\n", __LINE__, #call, cudaGetErrorString(status));                         \
      std::exit(1);                                                                                          \
    }                                                                                                        \
  } while (0)

/// Rows of `width` numbers, `pitch` numbers apart.
__device__ void change(int *data, int width, int pitch) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N)
    data[i / width * pitch + i % width] += 3 * i;
}
__global__ void plain(int *data) { change(data, N, N); }
__global__ void asynchronous(int *data) { change(data, N, N); }
__global__ void pooled(int *data) { change(data, N, N); }
__global__ void managed(int *data) { change(data, N, N); }
__global__ void pinned(int *data) { change(data, N, N); }
__global__ void mapped(int *data) { change(data, N, N); }
__global__ void registered(int *data) { change(data, N, N); }
__global__ void pitched(int *data, int pitch) { change(data, 100, pitch); }
__global__ void volume(int *data, int pitch) { change(data, 10, pitch); }
/// Reads a row in front of its array, and uses nothing of it.
__global__ void in_front(int *data, int row) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N)
    return;
  volatile int *before = data + i - row;
  int north = *before;
  if (i < row)
    north = 1;
  data[i] += north * 0 + 3 * i;
}

constexpr dim3 kGrid((N + 127) / 128), kBlock(128);

static std::vector<int> initial() {
  std::vector<int> values(N);
  for (int i = 0; i < N; ++i)
    values[i] = i % 7;
  return values;
}

static void tell(const char *way, const int *values) {
  long sum = 0, expected = 0;
  for (int i = 0; i < N; ++i) {
    sum += values[i];
    expected += i % 7 + 3 * i;
  }
  std::printf("%s %s\n", way, sum == expected ? "right" : "wrong");
}

/// Whether the way is there; says so if it isn't.
static bool got(const char *way, cudaError_t status) {
  if (status != cudaSuccess)
    std::printf("%s missing: %s\n", way, cudaGetErrorName(status));
  (void)cudaGetLastError();
  return status == cudaSuccess;
}

static void onDevice(const char *way, void (*kernel)(int *), int *data) {
  std::vector<int> values = initial();
  OK(cudaMemcpy(data, values.data(), N * sizeof(int), cudaMemcpyDefault));
  kernel<<<kGrid, kBlock>>>(data);
  OK(cudaMemcpy(values.data(), data, N * sizeof(int), cudaMemcpyDefault));
  tell(way, values.data());
}

static void onHost(const char *way, void (*kernel)(int *), int *host, int *device) {
  std::memcpy(host, initial().data(), N * sizeof(int));
  kernel<<<kGrid, kBlock>>>(device);
  OK(cudaDeviceSynchronize());
  tell(way, host);
}

static void first() {
  constexpr int kRow = 100000; // numbers: some hundred kilobytes
  int *data;
  OK(cudaMalloc(&data, N * sizeof(int)));
  std::vector<int> values = initial();
  OK(cudaMemcpy(data, values.data(), N * sizeof(int), cudaMemcpyDefault));
  in_front<<<kGrid, kBlock>>>(data, kRow);
  OK(cudaMemcpy(values.data(), data, N * sizeof(int), cudaMemcpyDefault));
  tell("in_front", values.data());
  onDevice("plain", plain, data);
  OK(cudaFree(data));
}

static void streamOrdered() {
  int *data;
  OK(cudaMallocAsync(&data, N * sizeof(int), nullptr));
  onDevice("asynchronous", asynchronous, data);
  OK(cudaFreeAsync(data, nullptr));
  cudaMemPoolProps properties = {};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location.type = cudaMemLocationTypeDevice;
  cudaMemPool_t pool;
  if (!got("pooled", cudaMemPoolCreate(&pool, &properties)))
    return;
  OK(cudaMallocFromPoolAsync(&data, N * sizeof(int), pool, nullptr));
  onDevice("pooled", pooled, data);
  OK(cudaFreeAsync(data, nullptr));
  OK(cudaMemPoolDestroy(pool));
}

static void sharedWithTheHost() {
  int *data, *device;
  OK(cudaMallocManaged(&data, N * sizeof(int)));
  onHost("managed", managed, data, data);
  OK(cudaFree(data));
  OK(cudaMallocHost(&data, N * sizeof(int)));
  onHost("pinned", pinned, data, data);
  OK(cudaFreeHost(data));
  OK(cudaHostAlloc(&data, N * sizeof(int), cudaHostAllocMapped));
  OK(cudaHostGetDevicePointer(&device, data, 0));
  onHost("mapped", mapped, data, device);
  OK(cudaFreeHost(data));
  static int own[N];
  OK(cudaHostRegister(own, sizeof(own), cudaHostRegisterMapped));
  OK(cudaHostGetDevicePointer(&device, own, 0));
  onHost("registered", registered, own, device);
  OK(cudaHostUnregister(own));
}

static void rows() {
  int *data;
  size_t pitch;
  std::vector<int> values = initial();
  OK(cudaMallocPitch(&data, &pitch, 100 * sizeof(int), N / 100));
  OK(cudaMemcpy2D(data, pitch, values.data(), 400, 400, N / 100, cudaMemcpyDefault));
  pitched<<<kGrid, kBlock>>>(data, int(pitch / sizeof(int)));
  OK(cudaMemcpy2D(values.data(), 400, data, pitch, 400, N / 100, cudaMemcpyDefault));
  tell("pitched", values.data());
  OK(cudaFree(data));

  cudaPitchedPtr box;
  values = initial();
  OK(cudaMalloc3D(&box, make_cudaExtent(40, 30, 10)));
  cudaMemcpy3DParms copy = {};
  copy.srcPtr = make_cudaPitchedPtr(values.data(), 40, 40, 30);
  copy.dstPtr = box;
  copy.extent = make_cudaExtent(40, 30, 10);
  copy.kind = cudaMemcpyDefault;
  OK(cudaMemcpy3D(&copy));
  volume<<<kGrid, kBlock>>>(static_cast<int *>(box.ptr), int(box.pitch / sizeof(int)));
  std::swap(copy.srcPtr, copy.dstPtr);
  OK(cudaMemcpy3D(&copy));
  tell("volume", values.data());
  OK(cudaFree(box.ptr));
}

#ifdef ARRAYS
__global__ void sampled(cudaTextureObject_t texture, int *out) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N)
    out[i] = tex1Dfetch<int>(texture, i) + 3 * i;
}
__global__ void drawn(cudaSurfaceObject_t surface) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N)
    surf2Dwrite(surf2Dread<int>(surface, i % 100 * 4, i / 100) + 3 * i, surface, i % 100 * 4, i / 100);
}
#endif

static void arrays() {
  cudaArray_t array;
  cudaMipmappedArray_t levels;
  const cudaChannelFormatDesc format = cudaCreateChannelDesc<int>();
  if (got("mipmapped", cudaMallocMipmappedArray(&levels, &format, make_cudaExtent(64, 64, 0), 3))) {
    std::printf("mipmapped there\n");
    OK(cudaFreeMipmappedArray(levels));
  }
  if (!got("array", cudaMallocArray(&array, &format, 100, N / 100, cudaArraySurfaceLoadStore)))
    return;
#ifdef ARRAYS
  std::vector<int> values = initial();
  OK(cudaMemcpy2DToArray(array, 0, 0, values.data(), 400, 400, N / 100, cudaMemcpyDefault));
  cudaResourceDesc resource = {};
  resource.resType = cudaResourceTypeArray;
  resource.res.array.array = array;
  cudaSurfaceObject_t surface;
  OK(cudaCreateSurfaceObject(&surface, &resource));
  drawn<<<kGrid, kBlock>>>(surface);
  OK(cudaMemcpy2DFromArray(values.data(), 400, array, 0, 0, 400, N / 100, cudaMemcpyDefault));
  tell("array", values.data());
  OK(cudaDestroySurfaceObject(surface));

  int *data, *out;
  values = initial();
  OK(cudaMalloc(&data, N * sizeof(int)));
  OK(cudaMalloc(&out, N * sizeof(int)));
  OK(cudaMemcpy(data, values.data(), N * sizeof(int), cudaMemcpyDefault));
  resource = {};
  resource.resType = cudaResourceTypeLinear;
  resource.res.linear = {data, format, N * sizeof(int)};
  cudaTextureDesc how = {};
  cudaTextureObject_t texture;
  OK(cudaCreateTextureObject(&texture, &resource, &how, nullptr));
  sampled<<<kGrid, kBlock>>>(texture, out);
  OK(cudaMemcpy(values.data(), out, N * sizeof(int), cudaMemcpyDefault));
  tell("texture", values.data());
  OK(cudaDestroyTextureObject(texture));
#endif
  OK(cudaFreeArray(array));
}

int main() {
  first();
  streamOrdered();
  sharedWithTheHost();
  rows();
  arrays();
}
