// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What replay runs on the device itself: finding the pages in which two memories differ, so that checking
// never crosses the bus, and holding the device while work is queued, so that timed launches run back to
// back. kernels.ptx is this file, compiled once by hand; the driver makes machine code of it at load:
//   clang++ -O3 --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-feature=+ptx63 -S kernels.cu -o kernels.ptx

constexpr unsigned kPage = 4096;
constexpr unsigned kVector = 16;

static __device__ bool differ(const unsigned char *left, const unsigned char *right,
                              unsigned long long bytes) {
  const bool aligned =
      ((reinterpret_cast<unsigned long long>(left) | reinterpret_cast<unsigned long long>(right)) &
       (kVector - 1)) == 0;
  if (aligned && bytes >= kVector) {
    const uint4 a = *reinterpret_cast<const uint4 *>(left);
    const uint4 b = *reinterpret_cast<const uint4 *>(right);
    return ((a.x ^ b.x) | (a.y ^ b.y) | (a.z ^ b.z) | (a.w ^ b.w)) != 0;
  }
  bool different = false;
  for (unsigned long long i = 0; i < bytes && i < kVector; ++i)
    different |= left[i] != right[i];
  return different;
}

// One block of kPage / kVector threads looks at a page at a time; flags holds one byte a page.
extern "C" __global__ void r3_differences(const unsigned char *left, const unsigned char *right,
                                          unsigned long long size, unsigned char *flags) {
  const unsigned long long pages = (size + kPage - 1) / kPage;
  for (unsigned long long page = blockIdx.x; page < pages; page += gridDim.x) {
    const unsigned long long at = page * kPage + threadIdx.x * kVector;
    const bool different = at < size && differ(left + at, right + at, size - at);
    const int any = __syncthreads_or(different);
    if (threadIdx.x == 0)
      flags[page] = any != 0;
  }
}

// Spins for a while on one thread.
extern "C" __global__ void r3_hold(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
}
