// Each rank runs two kernels on its own part; rank 0 prints what all of them add up to.
#include <mpi.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void fill(double *part, int n, double first) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    part[i] = first + i;
}

__global__ void halve(double *part, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    part[i] *= 0.5;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  int rank, ranks;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const int n = 1000, steps = argc > 1 ? std::atoi(argv[1]) : 4;
  double *part;
  cudaMalloc(&part, n * sizeof(double));
  fill<<<(n + 127) / 128, 128>>>(part, n, rank * n);
  for (int i = 0; i < steps; ++i)
    halve<<<(n + 127) / 128, 128>>>(part, n);
  std::vector<double> host(n);
  cudaMemcpy(host.data(), part, n * sizeof(double), cudaMemcpyDeviceToHost);
  double own = 0, all = 0;
  for (double value : host)
    own += value;
  MPI_Reduce(&own, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    std::printf("%d ranks: %.17g\n", ranks, all);
  cudaFree(part);
  MPI_Finalize();
}
