// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program on the CUDA driver API. Its functions come by linking to libcuda, or (DYNAMIC) as cudart gets
// them: dlopen, dlsym of cuGetProcAddress, which is asked for itself first.

#include "kernels.h"

#include <cuda.h>

#undef cuGetProcAddress
#undef cuMemcpyBatchAsync

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <signal.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

#define FUNCTIONS(F)                                                                                         \
  F(cuInit, cuInit)                                                                                          \
  F(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain)                                                      \
  F(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease)                                                 \
  F(cuCtxSetCurrent, cuCtxSetCurrent)                                                                        \
  F(cuCtxSynchronize, cuCtxSynchronize)                                                                      \
  F(cuMemAlloc_v2, cuMemAlloc)                                                                               \
  F(cuMemFree_v2, cuMemFree)                                                                                 \
  F(cuMemAllocAsync, cuMemAllocAsync)                                                                        \
  F(cuMemFreeAsync, cuMemFreeAsync)                                                                          \
  F(cuMemAllocManaged, cuMemAllocManaged)                                                                    \
  F(cuMemHostAlloc, cuMemHostAlloc)                                                                          \
  F(cuMemFreeHost, cuMemFreeHost)                                                                            \
  F(cuMemAllocPitch_v2, cuMemAllocPitch)                                                                     \
  F(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer)                                        \
  F(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync)                                                        \
  F(cuPointerGetAttribute, cuPointerGetAttribute)                                                            \
  F(cuPointerGetAttributes, cuPointerGetAttributes)                                                          \
  F(cuMemsetD2D8_v2, cuMemsetD2D8)                                                                           \
  F(cuMemcpyBatchAsync_v2, cuMemcpyBatchAsync)                                                               \
  F(cuTexObjectCreate, cuTexObjectCreate)                                                                    \
  F(cuTexObjectDestroy, cuTexObjectDestroy)                                                                  \
  F(cuGraphLaunch, cuGraphLaunch)                                                                            \
  F(cuDeviceGetCount, cuDeviceGetCount)                                                                      \
  F(cuMemGetAddressRange_v2, cuMemGetAddressRange)                                                           \
  F(cuMemcpyHtoD_v2, cuMemcpyHtoD)                                                                           \
  F(cuMemcpyDtoH_v2, cuMemcpyDtoH)                                                                           \
  F(cuStreamCreate, cuStreamCreate)                                                                          \
  F(cuStreamBeginCapture_v2, cuStreamBeginCapture)                                                           \
  F(cuStreamEndCapture, cuStreamEndCapture)                                                                  \
  F(cuLibraryLoadData, cuLibraryLoadData)                                                                    \
  F(cuLibraryGetKernel, cuLibraryGetKernel)                                                                  \
  F(cuModuleLoadData, cuModuleLoadData)                                                                      \
  F(cuModuleGetFunction, cuModuleGetFunction)                                                                \
  F(cuLibraryGetGlobal, cuLibraryGetGlobal)                                                                  \
  F(cuLaunchKernel, cuLaunchKernel)                                                                          \
  F(cuLaunchKernelEx, cuLaunchKernelEx)                                                                      \
  F(cuLaunchCooperativeKernel, cuLaunchCooperativeKernel)

namespace {

[[noreturn]] void fail(const char *what, int status) {
  std::fprintf(stderr, "%s failed: %d\n", what, status);
  std::exit(3);
}

struct Cuda {
#define DECLARE(symbol, name) decltype(::symbol) *symbol;
  FUNCTIONS(DECLARE)
};

#ifdef DYNAMIC
template <typename Address> void lookUp(Address address, const char *name, void **function) {
  if (CUresult result = address(name, function, 13000, 0, nullptr))
    fail(name, result);
}

Cuda connect() {
  using Lookup = CUresult (*)(const char *, void **, int, cuuint64_t, CUdriverProcAddressQueryResult *);
  void *library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library)
    fail(dlerror(), 0);
  auto first = reinterpret_cast<Lookup>(dlsym(library, "cuGetProcAddress_v2"));
  Lookup second = nullptr;
  lookUp(first, "cuGetProcAddress", reinterpret_cast<void **>(&second));
  Cuda cuda;
#define LOOKUP(symbol, name) lookUp(second, #name, reinterpret_cast<void **>(&cuda.symbol));
#undef cuDevicePrimaryCtxRelease
#undef cuMemAlloc
#undef cuMemAllocPitch
#undef cuMemsetD2D8
#undef cuMemFree
#undef cuMemGetAddressRange
#undef cuMemcpyHtoD
#undef cuMemcpyDtoH
#undef cuStreamBeginCapture
  FUNCTIONS(LOOKUP)
  return cuda;
}
#else
Cuda connect() {
  Cuda cuda;
#define LOOKUP(symbol, name) cuda.symbol = ::symbol;
  FUNCTIONS(LOOKUP)
  return cuda;
}
#endif

Cuda cuda;
CUlibrary library;

#define CHECK(call)                                                                                          \
  if (CUresult result = cuda.call)                                                                           \
  fail(#call, result)

void connectDevice() {
  cuda = connect();
  CUcontext context;
  CHECK(cuInit(0));
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  CHECK(cuCtxSetCurrent(context));
  CHECK(cuLibraryLoadData(&library, &noted_wrapper, nullptr, nullptr, 0, nullptr, nullptr, 0));
}

CUfunction function(const char *name) {
  CUkernel kernel;
  CHECK(cuLibraryGetKernel(&kernel, library, name));
  return reinterpret_cast<CUfunction>(kernel);
}

CUdeviceptr allocate(std::size_t size) {
  CUdeviceptr address;
  CHECK(cuMemAlloc_v2(&address, size));
  return address;
}

void launch(CUfunction which, void **arguments, unsigned grid = 1, unsigned block = 32,
            CUstream stream = nullptr) {
  CHECK(cuLaunchKernel(which, grid, 1, 1, block, 1, 1, 0, stream, arguments, nullptr));
}

void launchScale(CUfunction which, CUdeviceptr data, float by, int n, unsigned grid = 1) {
  void *arguments[] = {&data, &by, &n};
  launch(which, arguments, grid);
}

/// Sum of what the device holds, so that a program prints the same with and without the recorder.
double sum(CUdeviceptr address, int n) {
  std::vector<float> copy(n);
  CHECK(cuMemcpyDtoH_v2(copy.data(), address, n * sizeof(float)));
  double total = 0;
  for (float value : copy)
    total += value;
  return total;
}

CUdeviceptr floats(int n) {
  std::vector<float> content(n);
  for (int i = 0; i < n; ++i)
    content[i] = float(i % 97);
  CUdeviceptr address = allocate(n * sizeof(float));
  CHECK(cuMemcpyHtoD_v2(address, content.data(), n * sizeof(float)));
  return address;
}

/// Launches every kernel; the list's nodes lie in allocations of their own.
void basic(int launches) {
  constexpr int N = 200000;
  CUdeviceptr data = floats(N), unrelated = floats(1000);
  CUdeviceptr nodes[3] = {allocate(sizeof(Node)), allocate(sizeof(Node)), allocate(sizeof(Node))};
  for (int i = 0; i < 3; ++i) {
    Node node{i < 2 ? reinterpret_cast<Node *>(nodes[i + 1]) : nullptr, double(i)};
    CHECK(cuMemcpyHtoD_v2(nodes[i], &node, sizeof(node)));
  }
  CUfunction kernels[] = {function("_Z5scalePffi"), function("_Z5chaseP4Node"), function("_Z5countv")};
  for (int i = 0; i < launches; ++i) {
    launchScale(kernels[0], data, i % 2 ? 0.5f : 2.5f, N / 2);
    void *list[] = {&nodes[0]};
    launch(kernels[1], list);
    launch(kernels[2], nullptr, 2, 64);
  }
  CUdeviceptr base = 0, counter = 0;
  std::size_t size = 0;
  CHECK(cuMemGetAddressRange_v2(&base, &size, data + 400));
  std::printf("range %d %zu\n", int(base == data), size);
  Node last;
  CHECK(cuMemcpyDtoH_v2(&last, nodes[2], sizeof(last)));
  std::uint64_t counted;
  CHECK(cuLibraryGetGlobal(&counter, &size, library, "counter"));
  CHECK(cuMemcpyDtoH_v2(&counted, counter, sizeof(counted)));
  std::printf("data %.6g unrelated %.6g last %g counter %llu\n", sum(data, N), sum(unrelated, 1000),
              last.value, static_cast<unsigned long long>(counted));
  CHECK(cuMemFree_v2(data));
  CHECK(cuMemFree_v2(unrelated));
}

/// Much memory, of which a launch changes little.
void tables(int launches) {
  constexpr int N = 1 << 20;
  std::vector<float> content(N);
  std::uint32_t state = 1;
  for (float &value : content)
    value = float(state = state * 1664525 + 1013904223);
  CUdeviceptr data = allocate(N * sizeof(float));
  CHECK(cuMemcpyHtoD_v2(data, content.data(), N * sizeof(float)));
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 1 + 1 / float(i + 1), 1000);
  std::printf("tables %g\n", sum(data, 1000));
}

/// A list whose nodes lie somewhere in large allocations, but for the last one.
void walkFar(CUdeviceptr last, int launches) {
  constexpr std::size_t Size = 3 << 20, At = (1 << 20) + 40;
  CUdeviceptr nodes[] = {allocate(Size) + At, allocate(Size) + At, last};
  allocate(Size); // nothing leads there
  for (int i = 0; i < 3; ++i) {
    Node node{i < 2 ? reinterpret_cast<Node *>(nodes[i + 1]) : nullptr, double(i)};
    CHECK(cuMemcpyHtoD_v2(nodes[i], &node, sizeof(node)));
  }
  for (int i = 0; i < launches; ++i) {
    void *list[] = {&nodes[0]};
    launch(function("_Z5chaseP4Node"), list);
  }
  Node end;
  CHECK(cuMemcpyDtoH_v2(&end, last, sizeof(end)));
  std::printf("far %g\n", end.value);
}

void farList(int launches) { walkFar(allocate(sizeof(Node)), launches); }
void farManaged(int launches) {
  CUdeviceptr last;
  CHECK(cuMemAllocManaged(&last, sizeof(Node), CU_MEM_ATTACH_GLOBAL));
  walkFar(last, launches);
}

void writeHidden(CUdeviceptr data, int launches) {
  std::uint64_t masked = ~data;
  CUfunction kernel = function("_Z6hiddenm");
  for (int i = 0; i < launches; ++i) {
    void *arguments[] = {&masked};
    launch(kernel, arguments);
  }
  int value;
  CHECK(cuMemcpyDtoH_v2(&value, data, 4));
  std::printf("hidden %d\n", value);
}

void hiddenWrites(int launches) { writeHidden(floats(16), launches); }
void hiddenTable(int launches) { writeHidden(floats(1 << 20) + (2 << 20), launches); }

/// The same launch on the same memory, again and again.
void fill(int launches) {
  CUdeviceptr data = floats(1000);
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 1, 1000);
  std::printf("fill %g\n", sum(data, 1000));
}

/// One scalar is ever another, one changes towards the end.
void levels(int launches) {
  CUdeviceptr data = floats(1000);
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 1 + 1 / float(i + 1), i < 90 ? 1000 : 500);
  std::printf("levels %g\n", sum(data, 1000));
}

void managed(int launches) {
  CUdeviceptr data;
  CHECK(cuMemAllocManaged(&data, 4000, CU_MEM_ATTACH_GLOBAL));
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 2, 1000);
  CHECK(cuCtxSynchronize());
  std::printf("managed %g\n", sum(data, 1000));
}

void pinned(int launches) {
  void *memory;
  CHECK(cuMemHostAlloc(&memory, 4000, CU_MEMHOSTALLOC_PORTABLE));
  auto *values = static_cast<float *>(memory);
  for (int i = 0; i < 1000; ++i)
    values[i] = float(i);
  auto onDevice = reinterpret_cast<CUdeviceptr>(memory);
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), onDevice, 1 + 1 / float(i + 1), 1000);
  CHECK(cuCtxSynchronize());
  CUdeviceptr start = 0;
  std::size_t size = 0;
  CHECK(cuPointerGetAttribute(&start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, onDevice + 100));
  CHECK(cuPointerGetAttribute(&size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, onDevice + 100));
  std::printf("pinned %g range %d %zu\n", values[999], int(start == onDevice), size);
  CHECK(cuMemFreeHost(memory));
}

void pitched(int launches) {
  CUdeviceptr rows, start;
  std::size_t pitch, size;
  CHECK(cuMemAllocPitch_v2(&rows, &pitch, 1000, 3, 4));
  CHECK(cuMemsetD2D8_v2(rows, pitch, 0x3f, 1000, 3));
  CUdeviceptr copy = allocate(pitch * 3);
  std::size_t bytes = pitch * 3;
  CHECK(cuMemcpyBatchAsync_v2(&copy, &rows, &bytes, 1, nullptr, nullptr, 0, nullptr));
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), rows, 1.5f, 250);
  void *values[] = {&start, &size};
  CUpointer_attribute attributes[] = {CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, CU_POINTER_ATTRIBUTE_RANGE_SIZE};
  CHECK(cuPointerGetAttributes(2, attributes, values, rows + 512));
  std::printf("pitched %g %g range %d %zu\n", sum(rows, 250), sum(copy, 250), int(start == rows), size);
}

void pooled(int launches) {
  CUdeviceptr data;
  CHECK(cuMemAllocFromPoolAsync(&data, 4000, nullptr, nullptr));
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 2, 1000);
  std::printf("pooled %g\n", sum(data, 1000));
}

/// Device memory that another interface gave.
void external(int launches) {
  CUdeviceptr data;
  CUDA_EXTERNAL_MEMORY_BUFFER_DESC buffer = {};
  buffer.size = 4000;
  CHECK(cuExternalMemoryGetMappedBuffer(&data, nullptr, &buffer));
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 2, 1000);
  std::printf("external %g\n", sum(data, 1000));
}

/// In one context, and in the one that comes after it under the same handle.
void recreated(int launches) {
  CUdeviceptr data = floats(1000);
  for (int life = 0; life < 2; ++life) {
    for (int i = 0; i < launches; ++i)
      launchScale(function("_Z5scalePffi"), data, 2, 1000);
    CHECK(cuCtxSynchronize());
    CHECK(cuDevicePrimaryCtxRelease_v2(0));
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  }
  std::printf("recreated %g\n", sum(data, 1000));
}

/// Ends in a handler of a signal, wherever that comes.
void alarmed(int launches) {
  signal(SIGALRM, [](int) { _exit(7); });
  basic(launches);
}

/// Frees what it has left when the library FAREWELL is unloaded, after every other destructor.
void farewell(int launches) {
  static CUdeviceptr last = floats(1000);
  void *library = dlopen(std::getenv("FAREWELL"), RTLD_NOW);
  if (!library)
    fail(dlerror(), 0);
  *static_cast<void (**)()>(dlsym(library, "atUnload")) = [] {
    std::printf("freed with %d\n", int(cuda.cuMemFree_v2(last)));
    std::fflush(stdout);
  };
  basic(launches);
}

void textured(int launches) {
  std::uint64_t handle = 1;
  void *arguments[] = {&handle};
  for (int i = 0; i < launches; ++i)
    launch(function("_Z6sampley"), arguments);
}

void graphs(int launches) {
  for (int i = 0; i < launches; ++i)
    CHECK(cuGraphLaunch(nullptr, nullptr));
  CHECK(cuCtxSynchronize());
}

/// By turns on every device, on memory of each.
void devices(int launches) {
  int count = 0;
  CHECK(cuDeviceGetCount(&count));
  double total = 0;
  for (int device = 0; device < count; ++device) {
    CUcontext context;
    CHECK(cuDevicePrimaryCtxRetain(&context, device));
    CHECK(cuCtxSetCurrent(context));
    CUdeviceptr data = floats(1000);
    for (int i = 0; i < launches; ++i)
      launchScale(function("_Z5scalePffi"), data, 1 + 1 / float(i + 1), 1000);
    total += sum(data, 1000);
  }
  std::printf("%d devices %g\n", count, total);
}

void foreign(int launches) {
  CHECK(cuLibraryLoadData(&library, &foreignWrapper, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUdeviceptr data = floats(1000);
  for (int i = 0; i < launches; ++i)
    launchScale(function("_Z5scalePffi"), data, 2, 1000);
  std::printf("foreign %g\n", sum(data, 1000));
}

/// The same with a texture, and with its handle's number after the texture is gone.
void foreignTexture(int launches) {
  CHECK(cuLibraryLoadData(&library, &foreignWrapper, nullptr, nullptr, 0, nullptr, nullptr, 0));
  CUtexObject handle;
  CHECK(cuTexObjectCreate(&handle, nullptr, nullptr, nullptr));
  void *arguments[] = {&handle};
  for (int i = 0; i < launches; ++i)
    launch(function("_Z6sampley"), arguments);
  CHECK(cuTexObjectDestroy(handle));
  for (int i = 0; i < launches; ++i)
    launch(function("_Z6sampley"), arguments);
}

/// A copy of the image, loaded as a module: found by its digest.
void copied(int launches) {
  CUmodule module;
  CUfunction kernel;
  std::vector<char> copy(sizeof(noted_image));
  std::memcpy(copy.data(), &noted_image, sizeof(noted_image));
  CHECK(cuModuleLoadData(&module, copy.data()));
  CHECK(cuModuleGetFunction(&kernel, module, "_Z5scalePffi"));
  CUdeviceptr data = floats(1000);
  for (int i = 0; i < launches; ++i)
    launchScale(kernel, data, 2, 1000);
  std::printf("copied %g\n", sum(data, 1000));
}

/// A kernel that ends only when the host says so.
void spinning(int) {
  void *flag;
  CHECK(cuMemHostAlloc(&flag, 4, 0));
  CUdeviceptr data = floats(1000);
  CUdeviceptr onDevice = reinterpret_cast<CUdeviceptr>(flag);
  void *arguments[] = {&onDevice};
  launch(function("_Z4spinPVi"), arguments);
  launchScale(function("_Z5scalePffi"), data, 2, 1000);
  *static_cast<volatile int *>(flag) = 1;
  CHECK(cuCtxSynchronize());
  std::printf("spinning %g\n", sum(data, 1000));
}

/// A kernel that never ends, and a thread that says so while it runs.
void stuck(int) {
  void *flag;
  CHECK(cuMemHostAlloc(&flag, 4, 0));
  CUdeviceptr onDevice = reinterpret_cast<CUdeviceptr>(flag);
  void *arguments[] = {&onDevice};
  std::thread([] {
    usleep(500000);
    std::printf("ready\n");
    std::fflush(stdout);
  }).detach();
  launch(function("_Z4spinPVi"), arguments);
  CHECK(cuCtxSynchronize());
}

/// The argument buffer instead of an array of pointers; the extended and the cooperative launch.
void otherLaunches(int launches) {
  CUdeviceptr data = floats(1000);
  CUfunction kernel = function("_Z5scalePffi");
  for (int i = 0; i < launches; ++i) {
    struct {
      CUdeviceptr data;
      float by;
      int n;
    } buffer{data, 2, 1000};
    std::size_t size = sizeof(buffer);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &buffer, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CHECK(cuLaunchKernel(kernel, 3, 1, 1, 32, 1, 1, 0, nullptr, nullptr, extra));
    void *arguments[] = {&buffer.data, &buffer.by, &buffer.n};
    CUlaunchConfig config = {};
    config.gridDimX = config.gridDimY = config.gridDimZ = 1;
    config.blockDimX = 64;
    config.blockDimY = config.blockDimZ = 1;
    CHECK(cuLaunchKernelEx(&config, kernel, arguments, nullptr));
    CHECK(cuLaunchCooperativeKernel(kernel, 1, 1, 1, 128, 1, 1, 0, nullptr, arguments));
  }
  std::printf("other %g\n", sum(data, 1000));
}

void capturing(int launches) {
  CUstream stream;
  CUgraph graph;
  CUdeviceptr data = floats(1000);
  float by = 2;
  int n = 1000;
  void *arguments[] = {&data, &by, &n};
  CHECK(cuStreamCreate(&stream, 0));
  for (int i = 0; i < launches; ++i) {
    CHECK(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    launch(function("_Z5scalePffi"), arguments, 1, 32, stream);
    CHECK(cuStreamEndCapture(stream, &graph));
  }
  launch(function("_Z5scalePffi"), arguments, 1, 32, stream);
  std::printf("capturing %g\n", sum(data, 1000));
}

void asynchronous(int launches) {
  CUfunction kernel = function("_Z5scalePffi");
  double total = 0;
  for (int i = 0; i < launches; ++i) {
    CUdeviceptr data;
    std::vector<float> content(1000, 1.5f);
    CHECK(cuMemAllocAsync(&data, 4000, nullptr));
    CHECK(cuMemcpyHtoD_v2(data, content.data(), 4000));
    launchScale(kernel, data, float(i + 1), 1000);
    total += sum(data, 1000);
    CHECK(cuMemFreeAsync(data, nullptr));
  }
  std::printf("asynchronous %g\n", total);
}

void threads(int launches) {
  CUfunction kernel = function("_Z5scalePffi");
  CUcontext context;
  CHECK(cuDevicePrimaryCtxRetain(&context, 0));
  std::vector<double> sums(4);
  std::vector<std::thread> all;
  for (int t = 0; t < 4; ++t)
    all.emplace_back([&, t] {
      CHECK(cuCtxSetCurrent(context));
      for (int i = 0; i < launches; ++i) {
        CUdeviceptr data = floats(5000 + t);
        launchScale(kernel, data, 3, 5000, unsigned(t + 1));
        sums[t] += sum(data, 5000);
        CHECK(cuMemFree_v2(data));
      }
    });
  for (std::thread &thread : all)
    thread.join();
  std::printf("threads %g %g %g %g\n", sums[0], sums[1], sums[2], sums[3]);
}

void forking(int launches) {
  basic(launches);
  std::fflush(stdout);
  pid_t child = fork();
  if (!child)
    std::exit(0); // runs the recorder's destructors, too
  int status = 0;
  waitpid(child, &status, 0);
  basic(launches);
  std::printf("child %d\n", status);
}

/// Launches, and then waits for a signal.
void waiting(int launches) {
  basic(launches);
  std::printf("ready\n");
  std::fflush(stdout);
  for (;;)
    pause();
}

/// Has a handler of its own for the scheduler's warning.
void warned(int launches) {
  static volatile sig_atomic_t warning;
  signal(SIGUSR1, [](int) { warning = 1; });
  std::printf("ready\n");
  std::fflush(stdout);
  while (!warning)
    usleep(1000);
  basic(launches);
}

/// A child that is ended by a signal of its own.
void endedChild(int launches) {
  basic(launches);
  std::fflush(stdout);
  pid_t child = fork();
  while (!child)
    pause();
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  basic(launches);
  std::printf("child ended by %d\n", WTERMSIG(status));
}

/// Launches when static objects are destroyed, after main.
struct Late {
  int launches = 0;
  ~Late();
} late;

/// Much new content a launch, for full disks and kills.
void large(int launches) {
  constexpr int N = 1 << 20;
  CUdeviceptr data = allocate(N * sizeof(float));
  CUfunction kernel = function("_Z5scalePffi");
  std::vector<std::uint32_t> content(N);
  std::uint32_t state = 1;
  for (int i = 0; i < launches; ++i) {
    for (std::uint32_t &word : content)
      word = (state = state * 1664525 + 1013904223) >> 9 | 0x3f800000;
    CHECK(cuMemcpyHtoD_v2(data, content.data(), N * sizeof(float)));
    launchScale(kernel, data, 0.5f, N, unsigned(i + 1));
    std::printf("launch %d\n", i);
    std::fflush(stdout);
  }
  std::printf("large %.6g\n", sum(data, N));
}

Late::~Late() {
  if (!launches)
    return;
  basic(launches);
  std::fflush(stdout);
}

double threadTime() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return 1e9 * double(now.tv_sec) + double(now.tv_nsec);
}

/// Nanoseconds of this thread's time a launch, in rounds of the given number: two kernels by turns that do
/// next to nothing. Not a test: what the recorder adds is the difference to a run without it.
void cost(int launches) {
  CUdeviceptr data = floats(1);
  CUfunction kernels[] = {function("_Z5scalePffi"), function("_Z5countv")};
  float by = 1;
  int n = 1;
  void *arguments[] = {&data, &by, &n};
  for (int round = 0; round < 40; ++round) {
    double begin = threadTime();
    for (int i = 0; i < launches; ++i)
      launch(kernels[i % 2], arguments);
    double taken = threadTime() - begin;
    CHECK(cuCtxSynchronize());
    std::printf("%.0f\n", taken / launches);
  }
}

} // namespace

int main(int count, char **arguments) {
  std::string scenario = count > 1 ? arguments[1] : "basic";
  int launches = count > 2 ? std::atoi(arguments[2]) : 20;
  if (scenario == "idle")
    return 0;
  if (scenario == "filelimit") {
    rlimit limit{16 << 20, 16 << 20};
    setrlimit(RLIMIT_FSIZE, &limit);
    scenario = "large";
  }
  if (scenario == "image")
    return std::fwrite(&noted_image, sizeof(noted_image), 1, stdout) != 1;
  connectDevice();
  const std::pair<const char *, void (*)(int)> scenarios[] = {{"basic", basic},
                                                              {"hidden", hiddenWrites},
                                                              {"hiddentable", hiddenTable},
                                                              {"tables", tables},
                                                              {"farlist", farList},
                                                              {"farmanaged", farManaged},
                                                              {"fill", fill},
                                                              {"levels", levels},
                                                              {"managed", managed},
                                                              {"foreign", foreign},
                                                              {"copied", copied},
                                                              {"spinning", spinning},
                                                              {"stuck", stuck},
                                                              {"other", otherLaunches},
                                                              {"capturing", capturing},
                                                              {"threads", threads},
                                                              {"asynchronous", asynchronous},
                                                              {"foreigntexture", foreignTexture},
                                                              {"pinned", pinned},
                                                              {"pitched", pitched},
                                                              {"pooled", pooled},
                                                              {"textured", textured},
                                                              {"external", external},
                                                              {"recreated", recreated},
                                                              {"alarmed", alarmed},
                                                              {"farewell", farewell},
                                                              {"graphs", graphs},
                                                              {"devices", devices},
                                                              {"waiting", waiting},
                                                              {"warned", warned},
                                                              {"endedchild", endedChild},
                                                              {"fork", forking},
                                                              {"large", large},
                                                              {"cost", cost}};
  for (auto [name, run] : scenarios)
    if (scenario == name)
      run(launches);
  if (scenario == "late")
    late.launches = launches;
  if (scenario == "_exit") {
    basic(launches);
    std::fflush(stdout);
    _exit(7);
  }
  if (scenario == "lost")
    launch(function("_Z4lostv"), nullptr);
  return 0;
}
