// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Many launches of a kernel that does next to nothing: what a launch costs the host.
// Prints the nanoseconds a launch of each round.
#include "check.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void count_launch(unsigned *counter, unsigned step) { *counter += step; }

int main(int argc, char **argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 7;
  const int launches = argc > 2 ? std::atoi(argv[2]) : 20000;
  unsigned *counter;
  CHECK(cudaMalloc(&counter, sizeof(*counter)));
  CHECK(cudaMemset(counter, 0, sizeof(*counter)));

  // What is recorded is recorded here; the rounds see unrecorded launches alone.
  const int warm_up = 1000;
  for (int i = 0; i < warm_up; ++i)
    count_launch<<<1, 1>>>(counter, 1u);
  CHECK(cudaDeviceSynchronize());

  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i)
      count_launch<<<1, 1>>>(counter, 1u);
    const auto end = std::chrono::steady_clock::now();
    CHECK(cudaDeviceSynchronize());
    std::printf("%.1f\n", std::chrono::duration<double, std::nano>(end - begin).count() / launches);
  }
  CHECK(cudaGetLastError());

  unsigned counted;
  CHECK(cudaMemcpy(&counted, counter, sizeof(counted), cudaMemcpyDeviceToHost));
  CHECK(cudaFree(counter));
  return counted == unsigned(warm_up + rounds * launches) ? 0 : 1;
}
