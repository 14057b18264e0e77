// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warm bubble rises through a neutrally stratified atmosphere: compressible Euler equations in an x-z
// plane, finite volumes with limited linear reconstruction and Rusanov fluxes, two-stage Runge-Kutta.
//
// The state is the deviation from a hydrostatic background, so an undisturbed atmosphere stays exactly at
// rest. Periodic in x, rigid walls below and above: the air's mass is conserved to rounding.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <utility>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));        \
      std::exit(2);                                                                                          \
    }                                                                                                        \
  } while (0)

constexpr double kGravity = 9.81;
constexpr double kGasConstant = 287.0;
constexpr double kHeatCapacity = 1004.0;
constexpr double kGamma = kHeatCapacity / (kHeatCapacity - kGasConstant);
constexpr double kSurfacePressure = 1.0e5;
constexpr double kPotentialTemperature = 300.0;
constexpr double kLength = 20000.0; // metres, x
constexpr double kHeight = 10000.0; // metres, z
constexpr int kHalo = 2;

enum Variable { kDensity, kMomentumX, kMomentumZ, kHeat, kVariables };

struct Grid {
  int nx, nz;
  double dx, dz;

  __host__ __device__ int pitch() const { return nx + 2 * kHalo; }
  __host__ __device__ int plane() const { return (nz + 2 * kHalo) * pitch(); }
  // Cell (i, k) of a variable; the interior is 0 <= i < nx, 0 <= k < nz.
  __host__ __device__ int cell(int variable, int k, int i) const {
    return variable * plane() + (k + kHalo) * pitch() + i + kHalo;
  }
  __host__ __device__ int tendency(int variable, int k, int i) const { return (variable * nz + k) * nx + i; }
};

// Hydrostatic profiles, at cell centres (with halo) and at the nz + 1 horizontal faces.
struct Background {
  double *density, *heat;
  double *face_density, *face_heat, *face_pressure;
};

struct Flow {
  double value[kVariables];
};

__host__ __device__ inline double pressure_of(double heat) {
  return kSurfacePressure * pow(heat * kGasConstant / kSurfacePressure, kGamma);
}

__device__ inline double minmod(double a, double b) {
  if (a * b <= 0.0)
    return 0.0;
  return fabs(a) < fabs(b) ? a : b;
}

// The value that a cell's limited linear profile takes at its lower (side = -1) or upper (side = +1) face.
__device__ inline double at_face(double before, double here, double after, double side) {
  return here + 0.5 * side * minmod(here - before, after - here);
}

// Rusanov flux between two deviations from one background; `normal` is the momentum across the face.
__device__ Flow rusanov(const Flow &low, const Flow &high, int normal, double density, double heat,
                        double pressure) {
  const double density_low = density + low.value[kDensity], density_high = density + high.value[kDensity];
  const double heat_low = heat + low.value[kHeat], heat_high = heat + high.value[kHeat];
  const double speed_low = low.value[normal] / density_low, speed_high = high.value[normal] / density_high;
  const double pressure_low = pressure_of(heat_low), pressure_high = pressure_of(heat_high);
  const double wave_low = fabs(speed_low) + sqrt(kGamma * pressure_low / density_low);
  const double wave_high = fabs(speed_high) + sqrt(kGamma * pressure_high / density_high);
  const double wave = fmax(wave_low, wave_high);

  Flow flux;
  flux.value[kDensity] = 0.5 * (low.value[normal] + high.value[normal]);
  flux.value[kMomentumX] = 0.5 * (speed_low * low.value[kMomentumX] + speed_high * high.value[kMomentumX]);
  flux.value[kMomentumZ] = 0.5 * (speed_low * low.value[kMomentumZ] + speed_high * high.value[kMomentumZ]);
  flux.value[kHeat] = 0.5 * (speed_low * heat_low + speed_high * heat_high);
  flux.value[normal] += 0.5 * (pressure_low + pressure_high) - pressure;
  for (int v = 0; v < kVariables; ++v)
    flux.value[v] -= 0.5 * wave * (high.value[v] - low.value[v]);
  return flux;
}

// Flux through the face below cell `at` in the direction of `stride`.
__device__ Flow face_flux(const double *state, int plane, int at, int stride, int normal, double density,
                          double heat, double pressure) {
  Flow low, high;
  for (int v = 0; v < kVariables; ++v) {
    const double *q = state + v * plane + at;
    low.value[v] = at_face(q[-2 * stride], q[-stride], q[0], 1.0);
    high.value[v] = at_face(q[-stride], q[0], q[stride], -1.0);
  }
  return rusanov(low, high, normal, density, heat, pressure);
}

__global__ void fill_halo_x(Grid grid, double *state) {
  int k = blockIdx.x * blockDim.x + threadIdx.x;
  int variable = blockIdx.y;
  if (k >= grid.nz)
    return;
  for (int h = 1; h <= kHalo; ++h) {
    state[grid.cell(variable, k, -h)] = state[grid.cell(variable, k, grid.nx - h)];
    state[grid.cell(variable, k, grid.nx - 1 + h)] = state[grid.cell(variable, k, h - 1)];
  }
}

__global__ void fill_halo_z(Grid grid, double *state) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int variable = blockIdx.y;
  if (i >= grid.nx)
    return;
  const double sign = variable == kMomentumZ ? -1.0 : 1.0; // a wall mirrors the flow
  for (int h = 1; h <= kHalo; ++h) {
    state[grid.cell(variable, -h, i)] = sign * state[grid.cell(variable, h - 1, i)];
    state[grid.cell(variable, grid.nz - 1 + h, i)] = sign * state[grid.cell(variable, grid.nz - h, i)];
  }
}

__global__ void tendencies_x(Grid grid, Background background, const double *state, double *tendency) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= grid.nx || k >= grid.nz)
    return;
  const double density = background.density[k + kHalo], heat = background.heat[k + kHalo];
  const double pressure = pressure_of(heat);
  const int at = grid.cell(0, k, i);
  Flow west = face_flux(state, grid.plane(), at, 1, kMomentumX, density, heat, pressure);
  Flow east = face_flux(state, grid.plane(), at + 1, 1, kMomentumX, density, heat, pressure);
  for (int v = 0; v < kVariables; ++v)
    tendency[grid.tendency(v, k, i)] = (west.value[v] - east.value[v]) / grid.dx;
}

__global__ void tendencies_z(Grid grid, Background background, const double *state, double *tendency) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= grid.nx || k >= grid.nz)
    return;
  const int at = grid.cell(0, k, i), up = grid.pitch();
  Flow below = face_flux(state, grid.plane(), at, up, kMomentumZ, background.face_density[k],
                         background.face_heat[k], background.face_pressure[k]);
  Flow above = face_flux(state, grid.plane(), at + up, up, kMomentumZ, background.face_density[k + 1],
                         background.face_heat[k + 1], background.face_pressure[k + 1]);
  for (int v = 0; v < kVariables; ++v)
    tendency[grid.tendency(v, k, i)] += (below.value[v] - above.value[v]) / grid.dz;
  tendency[grid.tendency(kMomentumZ, k, i)] -=
      kGravity * state[at]; // buoyancy: weight of the density deviation
}

// result = keep * start + (1 - keep) * (state + dt * tendency): both Runge-Kutta stages have this form.
__global__ void update(Grid grid, double keep, double dt, const double *start, const double *state,
                       const double *tendency, double *result) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int k = blockIdx.y * blockDim.y + threadIdx.y;
  if (i >= grid.nx || k >= grid.nz)
    return;
  for (int v = 0; v < kVariables; ++v) {
    const int at = grid.cell(v, k, i);
    result[at] = keep * start[at] + (1.0 - keep) * (state[at] + dt * tendency[grid.tendency(v, k, i)]);
  }
}

// One partial sum of the density deviation per block.
__global__ void sum_mass(Grid grid, const double *state, double *partial) {
  __shared__ double sums[256];
  double sum = 0.0;
  for (int c = blockIdx.x * blockDim.x + threadIdx.x; c < grid.nx * grid.nz; c += gridDim.x * blockDim.x)
    sum += state[grid.cell(kDensity, c / grid.nx, c % grid.nx)];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0)
    partial[blockIdx.x] = sums[0];
}

class Model {
public:
  explicit Model(Grid grid) : grid(grid) {
    const size_t cells = size_t(kVariables) * grid.plane();
    for (double **field : {&state, &stage, &next})
      CHECK(cudaMalloc(field, cells * sizeof(double)));
    CHECK(cudaMalloc(&tendency, size_t(kVariables) * grid.nx * grid.nz * sizeof(double)));
    CHECK(cudaMalloc(&partial, kSumBlocks * sizeof(double)));
    upload_background();
    upload_bubble();
  }

  ~Model() {
    for (double *field : {state, stage, next, tendency, partial, background.density, background.heat,
                          background.face_density, background.face_heat, background.face_pressure})
      cudaFree(field);
  }

  void step(double dt) {
    advance(0.0, dt, state, state, stage);
    advance(0.5, dt, state, stage, next);
    std::swap(state, next);
  }

  double mass_deviation() {
    sum_mass<<<kSumBlocks, 256>>>(grid, state, partial);
    CHECK(cudaGetLastError());
    std::vector<double> sums(kSumBlocks);
    CHECK(cudaMemcpy(sums.data(), partial, sums.size() * sizeof(double), cudaMemcpyDeviceToHost));
    double sum = 0.0;
    for (double s : sums)
      sum += s;
    return sum * grid.dx * grid.dz;
  }

  double background_mass() const { return total_density * grid.nx * grid.dx * grid.dz; }

  std::vector<double> download() const {
    std::vector<double> host(size_t(kVariables) * grid.plane());
    CHECK(cudaMemcpy(host.data(), state, host.size() * sizeof(double), cudaMemcpyDeviceToHost));
    return host;
  }

private:
  static constexpr int kSumBlocks = 32;
  Grid grid;
  Background background{};
  double *state, *stage, *next, *tendency, *partial;
  double total_density = 0.0;

  static double heat_at(double z) {
    const double exner = 1.0 - kGravity * z / (kHeatCapacity * kPotentialTemperature);
    return kSurfacePressure / kGasConstant * std::pow(exner, 1.0 / (kGamma - 1.0));
  }

  static double *upload(const std::vector<double> &values) {
    double *device;
    CHECK(cudaMalloc(&device, values.size() * sizeof(double)));
    CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(double), cudaMemcpyHostToDevice));
    return device;
  }

  void upload_background() {
    std::vector<double> heat, density, face_heat, face_density, face_pressure;
    for (int k = -kHalo; k < grid.nz + kHalo; ++k) {
      heat.push_back(heat_at((k + 0.5) * grid.dz));
      density.push_back(heat.back() / kPotentialTemperature);
      total_density += k >= 0 && k < grid.nz ? density.back() : 0.0;
    }
    for (int k = 0; k <= grid.nz; ++k) {
      face_heat.push_back(heat_at(k * grid.dz));
      face_density.push_back(face_heat.back() / kPotentialTemperature);
      face_pressure.push_back(pressure_of(face_heat.back()));
    }
    background = {upload(density), upload(heat), upload(face_density), upload(face_heat),
                  upload(face_pressure)};
  }

  // Warm air in pressure balance: lighter, and hence rising.
  void upload_bubble() {
    std::vector<double> host(size_t(kVariables) * grid.plane(), 0.0);
    for (int k = 0; k < grid.nz; ++k)
      for (int i = 0; i < grid.nx; ++i) {
        const double x = ((i + 0.5) * grid.dx - 0.5 * kLength) / 2500.0;
        const double z = ((k + 0.5) * grid.dz - 3000.0) / 2000.0;
        const double radius = std::sqrt(x * x + z * z);
        if (radius < 1.0) {
          const double warming = 3.0 * std::pow(std::cos(0.5 * M_PI * radius), 2);
          const double heat = heat_at((k + 0.5) * grid.dz);
          host[grid.cell(kDensity, k, i)] =
              heat / (kPotentialTemperature + warming) - heat / kPotentialTemperature;
        }
      }
    CHECK(cudaMemcpy(state, host.data(), host.size() * sizeof(double), cudaMemcpyHostToDevice));
  }

  void advance(double keep, double dt, const double *start, double *from, double *to) {
    const dim3 block(16, 16), blocks((grid.nx + 15) / 16, (grid.nz + 15) / 16);
    fill_halo_x<<<dim3((grid.nz + 63) / 64, kVariables), 64>>>(grid, from);
    fill_halo_z<<<dim3((grid.nx + 63) / 64, kVariables), 64>>>(grid, from);
    tendencies_x<<<blocks, block>>>(grid, background, from, tendency);
    tendencies_z<<<blocks, block>>>(grid, background, from, tendency);
    update<<<blocks, block>>>(grid, keep, dt, start, from, tendency, to);
    CHECK(cudaGetLastError());
  }
};

int main(int argc, char **argv) {
  const int nx = argc > 1 ? std::atoi(argv[1]) : 128;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 40;
  if (nx < 16 || nx % 2 || nx > 16384 || steps < 1) {
    std::fprintf(stderr, "usage: weather [cells in x: even, 16 to 16384] [steps >= 1]\n");
    return 2;
  }
  const Grid grid{nx, nx / 2, kLength / nx, kHeight / (nx / 2)};
  const double dt = 0.3 * grid.dx / 360.0; // sound, 350 m/s, limits the step
  Model model(grid);
  const double mass_before = model.mass_deviation();
  for (int s = 0; s < steps; ++s)
    model.step(dt);
  const double drift = std::fabs(model.mass_deviation() - mass_before) / model.background_mass();

  const std::vector<double> state = model.download();
  double updraft = 0.0, asymmetry = 0.0, checksum = 0.0;
  for (int k = 0; k < grid.nz; ++k)
    for (int i = 0; i < grid.nx; ++i) {
      const double here = state[grid.cell(kMomentumZ, k, i)],
                   mirrored = state[grid.cell(kMomentumZ, k, nx - 1 - i)];
      updraft = std::fmax(updraft, here);
      asymmetry = std::fmax(asymmetry, std::fabs(here - mirrored));
      checksum += here * here;
    }
  const bool passed = drift < 1e-13 && updraft > 0.0 && asymmetry < 1e-8 * updraft;
  std::printf("weather: %dx%d, %d steps of %.4f s\n", grid.nx, grid.nz, steps, dt);
  std::printf("  mass drift %.1e, updraft %.6e kg/m2s, asymmetry %.1e\n", drift, updraft, asymmetry);
  std::printf("  checksum %.9e %s\n", checksum, passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
