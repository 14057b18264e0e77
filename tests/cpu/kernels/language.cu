// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Atomics, variables, structs, templates, recursion, printf, assertions.
#include <cassert>
#include <cstdarg>
#include <cstdio>

extern "C" __global__ void atomics(int *i, unsigned *u, float *f, double *d, unsigned long long *l) {
  int t = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&i[0], t);
  atomicSub(&i[1], 1);
  atomicMin(&i[2], t - 5);
  atomicMax(&i[3], t);
  atomicOr(&i[4], 1 << (t % 30));
  atomicXor(&i[5], t);
  atomicInc(&u[0], 6);
  atomicDec(&u[1], 9);
  atomicExch(&u[2], 42u);
  atomicCAS(&u[3], 0u, 17u);
  atomicAdd(&f[0], 0.5f);
  atomicAdd(&d[0], 0.25);
  atomicAdd(&l[0], 1ull << 33);
  atomicAdd_block(&i[6], 2);
  __threadfence();
}

__constant__ float table[4] = {1.0f, 2.0f, 3.0f, 4.0f};
__device__ double factors[3] = {0.5, 0.25, 0.125};
static __device__ int calls;

extern "C" __global__ void writes_state(int n) {
  for (int k = 0; k < n; ++k)
    atomicAdd(&calls, 1);
}

extern "C" __global__ void reads_state(float *out, double *scaled, int *seen) {
  int t = threadIdx.x;
  out[t] = table[t & 3];
  scaled[t] = factors[t % 3];
  *seen = calls;
}

struct Field {
  double *values;
  int stride;
};
struct Mesh {
  Field density, energy;
  double scale;
};

extern "C" __global__ void struct_of_pointers(Mesh mesh, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    mesh.energy.values[i * mesh.energy.stride] += mesh.scale * mesh.density.values[i * mesh.density.stride];
}

// The kernel's parameter is its own copy, thread by thread.
extern "C" __global__ void changes_parameter(Mesh mesh, double *out) {
  mesh.scale += threadIdx.x;
  Mesh *p = &mesh;
  p->scale *= 2;
  out[threadIdx.x] = mesh.scale;
}

template <typename T, int N> struct Polynomial {
  T c[N];
  __device__ T operator()(T x) const {
    T sum = c[N - 1];
    for (int k = N - 2; k >= 0; --k)
      sum = sum * x + c[k];
    return sum;
  }
};

template <typename T, int N> __global__ void evaluate(Polynomial<T, N> p, const T *x, T *y) {
  y[threadIdx.x] = p(x[threadIdx.x]);
}
template __global__ void evaluate<double, 3>(Polynomial<double, 3>, const double *, double *);

__device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
extern "C" __global__ void recursion(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

// A barrier below a call that is not inlined.
__device__ __noinline__ int exchange(int *cell, int v) {
  cell[threadIdx.x] = v;
  __syncthreads();
  return cell[threadIdx.x ^ 1];
}
extern "C" __global__ void barrier_in_call(int *out) {
  __shared__ int cell[64];
  out[threadIdx.x] = exchange(cell, threadIdx.x * 10);
}

typedef int (*Operation)(int, int);
__device__ int plus(int a, int b) { return a + b; }
__device__ int times(int a, int b) { return a * b; }
__device__ Operation operations[2] = {plus, times};
extern "C" __global__ void indirect(int *out) { out[threadIdx.x] = operations[threadIdx.x & 1](threadIdx.x, 3); }

extern "C" __global__ void prints(int n, double x) {
  if (threadIdx.x == 1)
    printf("n=%d x=%.3f c=%c s=%s l=%lld w=%4d|%%\n", n, x, 'R', "text", 1ll << 40, 7);
}

extern "C" __global__ void asserts(int limit) { assert((int)threadIdx.x < limit && "too many"); }

extern "C" __global__ void traps(int *out, int at) {
  out[threadIdx.x] = 1;
  if (threadIdx.x == at)
    __trap();
}

extern "C" __global__ void traps_among_barriers(int at) {
  __syncthreads();
  if (threadIdx.x == at)
    __trap();
  __syncthreads();
}

extern "C" __global__ void allocates(int *out) {
  int *mine = (int *)malloc(4 * sizeof(int));
  for (int k = 0; k < 4; ++k)
    mine[k] = threadIdx.x + k;
  out[threadIdx.x] = mine[0] + mine[3];
  free(mine);
}

extern "C" __global__ void clocks(long long *out) {
  long long first = clock64();
  out[0] = clock64() >= first;
}

__device__ __noinline__ int sum(int n, ...) {
  va_list list;
  va_start(list, n);
  double total = 0;
  for (int i = 0; i < n; ++i)
    total += va_arg(list, int);
  total += va_arg(list, double);
  va_end(list);
  return static_cast<int>(total);
}

extern "C" __global__ void any_number_of_arguments(int *x) { x[threadIdx.x] = sum(3, 1, int(threadIdx.x), 5, 2.5); }

extern "C" __attribute__((optnone)) __global__ void left_alone(int *x) { x[threadIdx.x] = 3 * threadIdx.x; }
