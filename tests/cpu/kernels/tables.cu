// Kernels with small read-only memory of every kind that may become constants behind a guard.
__constant__ float weights[5];
__device__ short dials[4];

// The guard stands before a barrier: both bodies have it.
extern "C" __global__ void filter(int n, const int *which, const float *x, double *__restrict__ y) {
  __shared__ double tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = dials[which[i] & 3];
  for (int k = 0; k < 5; ++k)
    sum += weights[k] * x[i + k];
  tile[threadIdx.x] = sum;
  __syncthreads();
  if (i < n)
    y[i] = tile[63 - threadIdx.x] * weights[i % 5];
}

struct Terms {
  double scale;
  long unread;
  float shift, power;
};

// The guard stands behind the bounds: the pointer may be null where n is 0.
extern "C" __global__ void apply(int n, const Terms *__restrict__ terms, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    y[i] = y[i] * terms->scale + terms->shift;
    y[i] = y[i] * terms->power;
  }
}

struct Switches {
  double by[3];
  int first;
};

// By value, and changed by the kernel.
extern "C" __global__ void cycle(Switches switches, int n, double *y) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < n; ++k) {
    y[i] *= switches.by[(switches.first + k) % 3];
    switches.by[k % 3] += 1;
  }
}

// The number is read by some threads only, behind a barrier.
extern "C" __global__ void halves(const float *__restrict__ scale, const float *x, double *__restrict__ y) {
  __shared__ double tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  double sum = 0;
  for (int k = 0; k < 5; ++k)
    sum += weights[k] * x[i + k];
  tile[threadIdx.x] = sum;
  __syncthreads();
  y[i] = tile[63 - threadIdx.x];
  if (threadIdx.x % 2)
    y[i] += *scale * weights[i % 5];
}
