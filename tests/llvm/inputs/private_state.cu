// Nothing of this is used by the host, so all of it is internal to the device module.
static __device__ double field[32];
static __device__ double unused_by_reader[8];

__global__ void writes_field(const double *x) { field[threadIdx.x & 31] = x[threadIdx.x]; }
__global__ void writes_other() { unused_by_reader[threadIdx.x & 7] = 1; }
__global__ void reads_field(double *y) { y[threadIdx.x] = field[threadIdx.x & 31]; }
