#include <cmath>
struct Params { double a; double *out; const double *in; int n; };
template <typename T> __device__ T poly(T x) { T s = 0; for (int i = 0; i < 7; ++i) s = s * x + T(i); return s; }
template <typename T> __global__ void trig(T *y, const T *x, int n) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<n) y[i] = sin(x[i]) * exp(x[i]) + pow(x[i], T(1.7)) / sqrt(x[i]) + poly(x[i]); }
template __global__ void trig<float>(float*, const float*, int);
template __global__ void trig<double>(double*, const double*, int);
__global__ void bystruct(Params p) { int i = blockIdx.x*blockDim.x+threadIdx.x; if (i<p.n) p.out[i] = p.a * p.in[i] + fma(p.a, 2.0, p.in[i]); }
