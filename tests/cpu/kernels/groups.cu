// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cooperative groups: the block, tiles of part of a warp and of several warps, lanes that are there, labels.
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>

namespace cg = cooperative_groups;

extern "C" __global__ void reversed(int *out) {
  cg::thread_block block = cg::this_thread_block();
  __shared__ int part[128];
  part[block.thread_rank()] = threadIdx.x;
  block.sync();
  out[threadIdx.x] = part[block.size() - 1 - threadIdx.x];
}

extern "C" __global__ void tiles(int *out) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int rank = threadIdx.x, n = blockDim.x;
  out[rank] = tile.shfl_down(rank, 1);
  out[n + rank] = cg::reduce(tile, rank, cg::plus<int>());
  out[2 * n + rank] = cg::inclusive_scan(tile, 1);
  out[3 * n + rank] = tile.any(rank == 17);
}

extern "C" __global__ void wide_tiles(int *out) {
  __shared__ cg::block_tile_memory<128> memory;
  auto tile = cg::tiled_partition<64>(cg::this_thread_block(memory));
  int rank = threadIdx.x, n = blockDim.x;
  out[rank] = cg::reduce(tile, rank, cg::plus<int>());
  tile.sync();
  out[n + rank] = tile.shfl(rank, 63);
}

extern "C" __global__ void thirds(int *out) {
  int rank = threadIdx.x, n = blockDim.x;
  if (rank % 3 == 0) {
    cg::coalesced_group here = cg::coalesced_threads();
    out[rank] = here.size() * 100 + here.thread_rank();
  }
  auto own = cg::labeled_partition(cg::tiled_partition<32>(cg::this_thread_block()), rank % 3);
  out[n + rank] = own.size() * 100 + own.thread_rank();
}
