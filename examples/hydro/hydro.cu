// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lagrangian hydrodynamics on an unstructured mesh of quadrilateral zones: a hot corner drives a shock into
// cold, layered gas. Staggered grid, compatible energy update (total energy is conserved to rounding),
// predictor and corrector, artificial and hourglass viscosity.
//
// Zones and nodes are numbered at random, as in a mesh that comes from a generator: all access is indirect.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <numeric>
#include <random>
#include <vector>

#define CHECK(call)                                                                                          \
  do {                                                                                                       \
    cudaError_t status = (call);                                                                             \
    if (status != cudaSuccess) {                                                                             \
      std::fprintf(stderr, "%s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status));        \
      std::exit(2);                                                                                          \
    }                                                                                                        \
  } while (0)

constexpr int kBlock = 128;
constexpr int kCorners = 4;
constexpr int kMaterials = 3;

struct Material {
  double gamma;
  double linear_viscosity, quadratic_viscosity;
};

static __constant__ Material materials[kMaterials];
static __constant__ int next_corner[kCorners] = {1, 2, 3, 0};
static __constant__ int previous_corner[kCorners] = {3, 0, 1, 2};
static __constant__ double hourglass_sign[kCorners] = {1.0, -1.0, 1.0, -1.0};

// Written by one kernel and read by others: the state of time stepping never leaves the device.
static __device__ unsigned long long smallest_step_bits;
static __device__ double time_step;
static __device__ double elapsed;

struct Mesh {
  int zones, nodes;
  const int *zone_node;    // [zones][4], anticlockwise
  const int *corner_start; // [nodes + 1]: the corners that meet at a node
  const int *corner;       // zone * 4 + corner
  const int *material;     // [zones]
  const int *wall;         // [nodes]: bit 0 no motion in x, bit 1 no motion in y
};

struct Nodes {
  double *x, *y, *u, *v, *mass;
  double *half_x, *half_y, *mean_u, *mean_v;
};

struct Zones {
  double *mass, *volume, *density, *energy, *pressure, *sound, *viscosity;
  double *force_x, *force_y; // [zones][4], on the corner's node
};

struct Quad {
  double x[kCorners], y[kCorners];
};

__device__ inline Quad gather(const Mesh &mesh, int zone, const double *x, const double *y) {
  Quad quad;
  for (int c = 0; c < kCorners; ++c) {
    int node = mesh.zone_node[zone * kCorners + c];
    quad.x[c] = x[node];
    quad.y[c] = y[node];
  }
  return quad;
}

__device__ inline double area(const Quad &q) {
  return 0.5 * ((q.x[2] - q.x[0]) * (q.y[3] - q.y[1]) - (q.x[3] - q.x[1]) * (q.y[2] - q.y[0]));
}

__device__ inline void ideal_gas(const Material &gas, double density, double energy, double *pressure,
                                 double *sound) {
  *pressure = (gas.gamma - 1.0) * density * fmax(energy, 0.0);
  *sound = sqrt(gas.gamma * *pressure / density) + 1e-12;
}

__global__ void start_clock(double first_step) {
  time_step = first_step;
  elapsed = 0.0;
  smallest_step_bits = __double_as_longlong(DBL_MAX);
}

__global__ void move_half_step(Mesh mesh, Nodes nodes) {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= mesh.nodes)
    return;
  nodes.half_x[n] = nodes.x[n] + 0.5 * time_step * nodes.u[n];
  nodes.half_y[n] = nodes.y[n] + 0.5 * time_step * nodes.v[n];
}

// Pressure at the middle of the step, from the zone's change of volume.
__global__ void predict_pressure(Mesh mesh, Nodes nodes, Zones zones) {
  int z = blockIdx.x * blockDim.x + threadIdx.x;
  if (z >= mesh.zones)
    return;
  const Quad middle = gather(mesh, z, nodes.half_x, nodes.half_y);
  const double volume = area(middle);
  const double work = (zones.pressure[z] + zones.viscosity[z]) * (volume - zones.volume[z]);
  const double energy = zones.energy[z] - work / zones.mass[z];
  ideal_gas(materials[mesh.material[z]], zones.mass[z] / volume, energy, &zones.pressure[z], &zones.sound[z]);
}

__global__ void corner_forces(Mesh mesh, Nodes nodes, Zones zones) {
  int z = blockIdx.x * blockDim.x + threadIdx.x;
  if (z >= mesh.zones)
    return;
  const Quad at = gather(mesh, z, nodes.half_x, nodes.half_y);
  const Quad velocity = gather(mesh, z, nodes.u, nodes.v);
  const Material gas = materials[mesh.material[z]];
  const double volume = area(at), length = sqrt(volume);

  double divergence = 0.0, hourglass_u = 0.0, hourglass_v = 0.0;
  for (int c = 0; c < kCorners; ++c) {
    const int before = previous_corner[c], after = next_corner[c];
    divergence +=
        0.5 * (velocity.x[c] * (at.y[after] - at.y[before]) - velocity.y[c] * (at.x[after] - at.x[before]));
    hourglass_u += 0.25 * hourglass_sign[c] * velocity.x[c];
    hourglass_v += 0.25 * hourglass_sign[c] * velocity.y[c];
  }
  divergence /= volume;

  double viscosity = 0.0;
  if (divergence < 0.0) {
    const double jump = -divergence * length;
    viscosity = zones.density[z] *
                (gas.quadratic_viscosity * pow(jump, 2.0) + gas.linear_viscosity * zones.sound[z] * jump);
  }
  zones.viscosity[z] = viscosity;

  const double stress = zones.pressure[z] + viscosity;
  const double damping = 0.1 * zones.density[z] * zones.sound[z] * length;
  for (int c = 0; c < kCorners; ++c) {
    const int before = previous_corner[c], after = next_corner[c];
    zones.force_x[z * kCorners + c] =
        0.5 * stress * (at.y[after] - at.y[before]) - damping * hourglass_sign[c] * hourglass_u;
    zones.force_y[z * kCorners + c] =
        -0.5 * stress * (at.x[after] - at.x[before]) - damping * hourglass_sign[c] * hourglass_v;
  }
}

__global__ void move_nodes(Mesh mesh, Nodes nodes, Zones zones) {
  int n = blockIdx.x * blockDim.x + threadIdx.x;
  if (n >= mesh.nodes)
    return;
  double force_x = 0.0, force_y = 0.0;
  for (int c = mesh.corner_start[n]; c < mesh.corner_start[n + 1]; ++c) {
    force_x += zones.force_x[mesh.corner[c]];
    force_y += zones.force_y[mesh.corner[c]];
  }
  if (mesh.wall[n] & 1)
    force_x = 0.0;
  if (mesh.wall[n] & 2)
    force_y = 0.0;
  const double u = nodes.u[n] + time_step * force_x / nodes.mass[n];
  const double v = nodes.v[n] + time_step * force_y / nodes.mass[n];
  nodes.mean_u[n] = 0.5 * (u + nodes.u[n]);
  nodes.mean_v[n] = 0.5 * (v + nodes.v[n]);
  nodes.u[n] = u;
  nodes.v[n] = v;
  nodes.x[n] += time_step * nodes.mean_u[n];
  nodes.y[n] += time_step * nodes.mean_v[n];
}

// The work that the corner forces did on the nodes is taken from the zone: that conserves total energy.
__global__ void update_zones(Mesh mesh, Nodes nodes, Zones zones) {
  int z = blockIdx.x * blockDim.x + threadIdx.x;
  if (z >= mesh.zones)
    return;
  double work = 0.0;
  for (int c = 0; c < kCorners; ++c) {
    const int node = mesh.zone_node[z * kCorners + c];
    work += zones.force_x[z * kCorners + c] * nodes.mean_u[node] +
            zones.force_y[z * kCorners + c] * nodes.mean_v[node];
  }
  zones.energy[z] -= time_step * work / zones.mass[z];
  zones.volume[z] = area(gather(mesh, z, nodes.x, nodes.y));
  zones.density[z] = zones.mass[z] / zones.volume[z];
  ideal_gas(materials[mesh.material[z]], zones.density[z], zones.energy[z], &zones.pressure[z],
            &zones.sound[z]);
}

__global__ void limit_time_step(Mesh mesh, Nodes nodes, Zones zones) {
  __shared__ double smallest[kBlock];
  int z = blockIdx.x * blockDim.x + threadIdx.x;
  double limit = DBL_MAX;
  if (z < mesh.zones) {
    const Quad at = gather(mesh, z, nodes.x, nodes.y);
    double side = DBL_MAX;
    for (int c = 0; c < kCorners; ++c) {
      const int after = next_corner[c];
      side = fmin(side, hypot(at.x[after] - at.x[c], at.y[after] - at.y[c]));
    }
    const double stiffness = sqrt(zones.viscosity[z] / zones.density[z]);
    limit = 0.25 * side / (zones.sound[z] + 2.0 * stiffness);
  }
  smallest[threadIdx.x] = limit;
  __syncthreads();
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    if (threadIdx.x < half)
      smallest[threadIdx.x] = fmin(smallest[threadIdx.x], smallest[threadIdx.x + half]);
    __syncthreads();
  }
  // Positive doubles are ordered as their bits are.
  if (threadIdx.x == 0)
    atomicMin(&smallest_step_bits, (unsigned long long)__double_as_longlong(smallest[0]));
}

__global__ void advance_clock() {
  elapsed += time_step;
  time_step = fmin(1.1 * time_step, __longlong_as_double((long long)smallest_step_bits));
  smallest_step_bits = __double_as_longlong(DBL_MAX);
}

struct HostMesh {
  int side;
  std::vector<int> zone_at, node_at; // grid position -> number
  std::vector<int> zone_node, corner_start, corner, material, wall;
  std::vector<double> x, y;
};

static std::vector<int> shuffled(int n, unsigned seed) {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(seed);
  for (int i = n - 1; i > 0; --i)
    std::swap(order[i], order[random() % unsigned(i + 1)]);
  return order;
}

static HostMesh build_mesh(int side) {
  const int nodes_per_side = side + 1, nodes = nodes_per_side * nodes_per_side, zones = side * side;
  HostMesh mesh{side,
                shuffled(zones, 1),
                shuffled(nodes, 2),
                std::vector<int>(zones * kCorners),
                {},
                {},
                std::vector<int>(zones),
                std::vector<int>(nodes),
                std::vector<double>(nodes),
                std::vector<double>(nodes)};
  std::vector<std::vector<int>> corners(nodes);
  for (int j = 0; j <= side; ++j)
    for (int i = 0; i <= side; ++i) {
      const int node = mesh.node_at[j * nodes_per_side + i];
      mesh.x[node] = double(i) / side;
      mesh.y[node] = double(j) / side;
      mesh.wall[node] = (i == 0 || i == side ? 1 : 0) | (j == 0 || j == side ? 2 : 0);
    }
  for (int j = 0; j < side; ++j)
    for (int i = 0; i < side; ++i) {
      const int zone = mesh.zone_at[j * side + i], base = j * nodes_per_side + i;
      const int around[kCorners] = {base, base + 1, base + nodes_per_side + 1, base + nodes_per_side};
      for (int c = 0; c < kCorners; ++c) {
        mesh.zone_node[zone * kCorners + c] = mesh.node_at[around[c]];
        corners[mesh.node_at[around[c]]].push_back(zone * kCorners + c);
      }
      mesh.material[zone] = std::max(i, j) * kMaterials / side; // layers, symmetric about the diagonal
    }
  mesh.corner_start.push_back(0);
  for (const auto &at_node : corners) {
    mesh.corner.insert(mesh.corner.end(), at_node.begin(), at_node.end());
    mesh.corner_start.push_back(int(mesh.corner.size()));
  }
  return mesh;
}

template <typename T> static T *upload(const std::vector<T> &values) {
  T *device;
  CHECK(cudaMalloc(&device, values.size() * sizeof(T)));
  CHECK(cudaMemcpy(device, values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice));
  return device;
}

static std::vector<double> download(const double *device, int n) {
  std::vector<double> host(n);
  CHECK(cudaMemcpy(host.data(), device, n * sizeof(double), cudaMemcpyDeviceToHost));
  return host;
}

class Simulation {
public:
  explicit Simulation(const HostMesh &host)
      : mesh{int(host.zone_at.size()),  int(host.node_at.size()), upload(host.zone_node),
             upload(host.corner_start), upload(host.corner),      upload(host.material),
             upload(host.wall)} {
    const Material table[kMaterials] = {{5.0 / 3.0, 0.5, 1.5}, {1.4, 0.5, 1.3}, {1.3, 0.4, 1.2}};
    CHECK(cudaMemcpyToSymbol(materials, table, sizeof(table)));

    const std::vector<double> no_nodes(mesh.nodes, 0.0), no_zones(mesh.zones, 0.0),
        no_corners(mesh.zones * kCorners, 0.0);
    std::vector<double> mass(mesh.zones), volume(mesh.zones), density(mesh.zones), energy(mesh.zones),
        pressure(mesh.zones), sound(mesh.zones), node_mass(mesh.nodes, 0.0);
    const double zone_volume = 1.0 / mesh.zones;
    for (int j = 0; j < host.side; ++j)
      for (int i = 0; i < host.side; ++i) {
        const int z = host.zone_at[j * host.side + i];
        const double distance = std::hypot(i + 0.5, j + 0.5) / host.side;
        density[z] = 1.0 + 0.5 * host.material[z];
        volume[z] = zone_volume;
        mass[z] = density[z] * zone_volume;
        energy[z] = 0.1 + 5.0 * std::exp(-std::pow(distance / 0.15, 2));
        const double gamma = table[host.material[z]].gamma;
        pressure[z] = (gamma - 1.0) * density[z] * energy[z];
        sound[z] = std::sqrt(gamma * pressure[z] / density[z]);
        for (int c = 0; c < kCorners; ++c)
          node_mass[host.zone_node[z * kCorners + c]] += 0.25 * mass[z];
      }
    nodes = {upload(host.x),   upload(host.y),   upload(no_nodes), upload(no_nodes), upload(node_mass),
             upload(no_nodes), upload(no_nodes), upload(no_nodes), upload(no_nodes)};
    zones = {upload(mass),  upload(volume),   upload(density),    upload(energy),    upload(pressure),
             upload(sound), upload(no_zones), upload(no_corners), upload(no_corners)};
    start_clock<<<1, 1>>>(0.01 / host.side);
    CHECK(cudaGetLastError());
  }

  ~Simulation() {
    for (const void *memory :
         {(const void *)mesh.zone_node, (const void *)mesh.corner_start, (const void *)mesh.corner,
          (const void *)mesh.material, (const void *)mesh.wall})
      cudaFree(const_cast<void *>(memory));
    for (double *memory : {nodes.x, nodes.y, nodes.u, nodes.v, nodes.mass, nodes.half_x, nodes.half_y,
                           nodes.mean_u, nodes.mean_v, zones.mass, zones.volume, zones.density, zones.energy,
                           zones.pressure, zones.sound, zones.viscosity, zones.force_x, zones.force_y})
      cudaFree(memory);
  }

  void step() {
    const int zone_blocks = (mesh.zones + kBlock - 1) / kBlock,
              node_blocks = (mesh.nodes + kBlock - 1) / kBlock;
    move_half_step<<<node_blocks, kBlock>>>(mesh, nodes);
    predict_pressure<<<zone_blocks, kBlock>>>(mesh, nodes, zones);
    corner_forces<<<zone_blocks, kBlock>>>(mesh, nodes, zones);
    move_nodes<<<node_blocks, kBlock>>>(mesh, nodes, zones);
    update_zones<<<zone_blocks, kBlock>>>(mesh, nodes, zones);
    limit_time_step<<<zone_blocks, kBlock>>>(mesh, nodes, zones);
    advance_clock<<<1, 1>>>();
    CHECK(cudaGetLastError());
  }

  double total_energy() const {
    double total = 0.0;
    const auto mass = download(zones.mass, mesh.zones), energy = download(zones.energy, mesh.zones);
    for (int z = 0; z < mesh.zones; ++z)
      total += mass[z] * energy[z];
    const auto node_mass = download(nodes.mass, mesh.nodes), u = download(nodes.u, mesh.nodes),
               v = download(nodes.v, mesh.nodes);
    for (int n = 0; n < mesh.nodes; ++n)
      total += 0.5 * node_mass[n] * (u[n] * u[n] + v[n] * v[n]);
    return total;
  }

  double time() const {
    double now;
    CHECK(cudaMemcpyFromSymbol(&now, elapsed, sizeof(now)));
    return now;
  }

  std::vector<double> zone_energy() const { return download(zones.energy, mesh.zones); }

private:
  Mesh mesh;
  Nodes nodes{};
  Zones zones{};
};

int main(int argc, char **argv) {
  const int side = argc > 1 ? std::atoi(argv[1]) : 48;
  const int steps = argc > 2 ? std::atoi(argv[2]) : 60;
  if (side < 6 || side > 8192 || steps < 1) {
    std::fprintf(stderr, "usage: hydro [zones per side, 6 to 8192] [steps >= 1]\n");
    return 2;
  }
  const HostMesh mesh = build_mesh(side);
  Simulation simulation(mesh);
  const double energy_before = simulation.total_energy();
  for (int s = 0; s < steps; ++s)
    simulation.step();
  const double drift = std::fabs(simulation.total_energy() / energy_before - 1.0), time = simulation.time();

  // The problem is symmetric about the diagonal; the mesh's numbering is not.
  const std::vector<double> energy = simulation.zone_energy();
  double asymmetry = 0.0, checksum = 0.0;
  for (int j = 0; j < side; ++j)
    for (int i = 0; i < side; ++i) {
      const double here = energy[mesh.zone_at[j * side + i]], mirrored = energy[mesh.zone_at[i * side + j]];
      asymmetry = std::fmax(asymmetry, std::fabs(here - mirrored) / (std::fabs(here) + std::fabs(mirrored)));
      checksum += here * (1 + i % 3);
    }
  const bool passed = drift < 1e-11 && asymmetry < 1e-8 && time > 0.0;
  std::printf("hydro: %d zones, %d steps to time %.6f\n", side * side, steps, time);
  std::printf("  energy drift %.1e, asymmetry %.1e, checksum %.9e %s\n", drift, asymmetry, checksum,
              passed ? "passed" : "FAILED");
  return passed ? 0 : 1;
}
