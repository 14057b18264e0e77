// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Conjugate gradients with a diagonal preconditioner on a sparse matrix in compressed rows.
//
// The matrix is a 7-point diffusion operator on a cube with layered conductivity, and a few long-range
// couplings that make rows uneven. The right-hand side belongs to a known solution, which the solver has to
// find.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <map>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));        \
      std::exit(2);                                                                                          \
    }                                                                                                        \
  } while (0)

constexpr int kBlock = 256;
constexpr int kWarp = 32;
constexpr int kLengths = 16; // bins of the row-length histogram

// The iteration's scalars stay on the device, so that the host reads one number an iteration.
struct Scalars {
  double residual_norm; // r.z
  double next_norm;     // r.z of the next iterate
  double curvature;     // p.Ap
};

struct Matrix {
  int rows;
  const int *row_start;
  const int *column;
  const double *value;
};

__global__ void count_row_lengths(Matrix a, int *histogram) {
  __shared__ int counts[kLengths];
  if (threadIdx.x < kLengths)
    counts[threadIdx.x] = 0;
  __syncthreads();
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row < a.rows)
    atomicAdd(&counts[min(a.row_start[row + 1] - a.row_start[row], kLengths - 1)], 1);
  __syncthreads();
  if (threadIdx.x < kLengths && counts[threadIdx.x] > 0)
    atomicAdd(&histogram[threadIdx.x], counts[threadIdx.x]);
}

__global__ void invert_diagonal(Matrix a, double *inverse) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows)
    return;
  for (int entry = a.row_start[row]; entry < a.row_start[row + 1]; ++entry)
    if (a.column[entry] == row)
      inverse[row] = 1.0 / a.value[entry];
}

__global__ void spmv(Matrix a, const double *x, double *y) {
  int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= a.rows)
    return;
  double sum = 0.0;
  for (int entry = a.row_start[row]; entry < a.row_start[row + 1]; ++entry)
    sum += a.value[entry] * x[a.column[entry]];
  y[row] = sum;
}

__device__ double sum_of_warp(double value) {
  for (int offset = kWarp / 2; offset > 0; offset /= 2)
    value += __shfl_down_sync(0xffffffffu, value, offset);
  return value;
}

// Adds the block's sum of `value` to *total. Every thread of the block has to call it.
__device__ void add_to_total(double value, double *total) {
  __shared__ double warp_sums[32];
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  value = sum_of_warp(value);
  if (lane == 0)
    warp_sums[warp] = value;
  __syncthreads();
  if (warp == 0) {
    const int warps = (blockDim.x + kWarp - 1) / kWarp;
    value = sum_of_warp(lane < warps ? warp_sums[lane] : 0.0);
    if (lane == 0)
      atomicAdd(total, value);
  }
}

__global__ void dot(int n, const double *x, const double *y, double *result) {
  double sum = 0.0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    sum += x[i] * y[i];
  add_to_total(sum, result);
}

__global__ void precondition(int n, const double *inverse_diagonal, const double *r, double *z) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n)
    z[i] = inverse_diagonal[i] * r[i];
}

__global__ void update_solution(int n, const Scalars *scalars, const double *p, const double *ap, double *x,
                                double *r) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const double alpha = scalars->residual_norm / scalars->curvature;
  x[i] += alpha * p[i];
  r[i] -= alpha * ap[i];
}

__global__ void update_direction(int n, const Scalars *scalars, const double *z, double *p) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n)
    return;
  const double beta = scalars->next_norm / scalars->residual_norm;
  p[i] = z[i] + beta * p[i];
}

__global__ void begin_iteration(Scalars *scalars) {
  scalars->residual_norm = scalars->next_norm;
  scalars->next_norm = 0.0;
  scalars->curvature = 0.0;
}

struct HostMatrix {
  std::vector<int> row_start, column;
  std::vector<double> value;

  int rows() const { return int(row_start.size()) - 1; }

  std::vector<double> times(const std::vector<double> &x) const {
    std::vector<double> y(rows(), 0.0);
    for (int row = 0; row < rows(); ++row)
      for (int entry = row_start[row]; entry < row_start[row + 1]; ++entry)
        y[row] += value[entry] * x[column[entry]];
    return y;
  }
};

static HostMatrix assemble(int side) {
  const int rows = side * side * side;
  std::vector<std::map<int, double>> entries(rows);
  auto couple = [&](int a, int b, double strength) {
    entries[a][b] -= strength;
    entries[b][a] -= strength;
    entries[a][a] += strength;
    entries[b][b] += strength;
  };
  for (int k = 0; k < side; ++k)
    for (int j = 0; j < side; ++j)
      for (int i = 0; i < side; ++i) {
        const int here = (k * side + j) * side + i;
        const double conductivity = k % 4 == 0 ? 10.0 : 1.0;
        entries[here][here] += 0.05;
        if (i + 1 < side)
          couple(here, here + 1, conductivity);
        if (j + 1 < side)
          couple(here, here + side, conductivity);
        if (k + 1 < side)
          couple(here, here + side * side, 1.0);
      }
  unsigned state = 12345; // a fracture network: pseudo-random, and the same on every machine
  auto draw = [&] { return int(((state = state * 1664525u + 1013904223u) >> 8) % unsigned(rows)); };
  for (int fracture = 0; fracture < rows / 16; ++fracture) {
    const int a = draw(), b = draw();
    if (a != b)
      couple(a, b, 0.5);
  }
  HostMatrix matrix;
  matrix.row_start.push_back(0);
  for (const auto &row : entries) {
    for (const auto &[column, value] : row) {
      matrix.column.push_back(column);
      matrix.value.push_back(value);
    }
    matrix.row_start.push_back(int(matrix.column.size()));
  }
  return matrix;
}

template <typename T> static T *upload(const std::vector<T> &values) {
  T *device;
  CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

class Solver {
public:
  Solver(const HostMatrix &host, const std::vector<double> &right_side)
      : n(host.rows()), blocks((n + kBlock - 1) / kBlock),
        a{n, upload(host.row_start), upload(host.column), upload(host.value)} {
    const std::vector<double> zero(n, 0.0);
    x = upload(zero);
    r = upload(right_side); // r = b - A 0
    z = upload(zero);
    p = upload(zero);
    ap = upload(zero);
    inverse_diagonal = upload(zero);
    CHECK(cudaMalloc(&scalars, sizeof(Scalars)));
    CHECK(cudaMemset(scalars, 0, sizeof(Scalars)));
    invert_diagonal<<<blocks, kBlock>>>(a, inverse_diagonal);
    CHECK(cudaGetLastError());
  }

  ~Solver() {
    for (void *memory : {(void *)a.row_start, (void *)a.column, (void *)a.value, (void *)x, (void *)r,
                         (void *)z, (void *)p, (void *)ap, (void *)inverse_diagonal, (void *)scalars})
      cudaFree(memory);
  }

  std::vector<int> row_lengths() {
    int *histogram = upload(std::vector<int>(kLengths, 0));
    count_row_lengths<<<blocks, kBlock>>>(a, histogram);
    CHECK(cudaGetLastError());
    std::vector<int> host(kLengths);
    CHECK(cudaMemcpy(host.data(), histogram, kLengths * sizeof(int), cudaMemcpyDeviceToHost));
    CHECK(cudaFree(histogram));
    return host;
  }

  // Returns the number of iterations that brought the preconditioned residual down by `tolerance`.
  int solve(double tolerance, int limit) {
    precondition<<<blocks, kBlock>>>(n, inverse_diagonal, r, z);
    CHECK(cudaMemcpy(p, z, n * sizeof(double), cudaMemcpyDeviceToDevice));
    dot<<<dot_blocks(), kBlock>>>(n, r, z, &scalars->next_norm);
    const double first = read_norm();
    int iteration = 0;
    while (iteration < limit) {
      ++iteration;
      begin_iteration<<<1, 1>>>(scalars);
      spmv<<<blocks, kBlock>>>(a, p, ap);
      dot<<<dot_blocks(), kBlock>>>(n, p, ap, &scalars->curvature);
      update_solution<<<blocks, kBlock>>>(n, scalars, p, ap, x, r);
      precondition<<<blocks, kBlock>>>(n, inverse_diagonal, r, z);
      dot<<<dot_blocks(), kBlock>>>(n, r, z, &scalars->next_norm);
      if (read_norm() < tolerance * tolerance * first)
        break;
      update_direction<<<blocks, kBlock>>>(n, scalars, z, p);
      CHECK(cudaGetLastError());
    }
    return iteration;
  }

  std::vector<double> solution() const {
    std::vector<double> host(n);
    CHECK(cudaMemcpy(host.data(), x, n * sizeof(double), cudaMemcpyDeviceToHost));
    return host;
  }

private:
  int n, blocks;
  Matrix a;
  double *x, *r, *z, *p, *ap, *inverse_diagonal;
  Scalars *scalars;

  int dot_blocks() const { return blocks < 264 ? blocks : 264; }

  double read_norm() const {
    double norm;
    CHECK(cudaMemcpy(&norm, &scalars->next_norm, sizeof(double), cudaMemcpyDeviceToHost));
    return norm;
  }
};

int main(int argc, char **argv) {
  const int side = argc > 1 ? std::atoi(argv[1]) : 24;
  const int limit = argc > 2 ? std::atoi(argv[2]) : 500;
  if (side < 4 || side > 512 || limit < 1) {
    std::fprintf(stderr, "usage: cg [cells per side of the cube, 4 to 512] [most iterations >= 1]\n");
    return 2;
  }
  const HostMatrix matrix = assemble(side);
  std::vector<double> wanted(matrix.rows());
  for (int i = 0; i < matrix.rows(); ++i)
    wanted[i] = 1.0 + 0.5 * std::sin(0.1 * i) + 0.01 * (i % 17);

  Solver solver(matrix, matrix.times(wanted));
  const std::vector<int> lengths = solver.row_lengths();
  const int iterations = solver.solve(1e-11, limit);
  const std::vector<double> found = solver.solution();

  double error = 0.0, norm = 0.0, checksum = 0.0;
  int counted = 0;
  for (int i = 0; i < matrix.rows(); ++i) {
    error += (found[i] - wanted[i]) * (found[i] - wanted[i]);
    norm += wanted[i] * wanted[i];
    checksum += found[i] * (1 + i % 3);
  }
  for (int count : lengths)
    counted += count;
  error = std::sqrt(error / norm);
  const bool passed = error < 1e-8 && counted == matrix.rows();
  std::printf("cg: %d rows, %zu entries, %d iterations\n", matrix.rows(), matrix.value.size(), iterations);
  std::printf("  error %.1e, checksum %.8e %s\n", error, checksum, passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
