// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What replay runs on the device itself: finding the pages in which two memories differ and counting the
// bytes, so that checking never crosses the bus, copying scattered pages in one launch, sweeping the L2
// cache, and holding the device while work is queued, so that a timed launch does not wait for the host.
// kernels.ptx is this file, compiled once by hand; the driver makes machine code of it at load:
//   clang++ -O3 --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-feature=+ptx63 -S kernels.cu -o kernels.ptx

constexpr unsigned kPage = 4096;
constexpr unsigned kVector = 16;

// Copied in one access, where a uint4 is copied in two.
using Vector = unsigned __attribute__((ext_vector_type(4)));

// Whether both can be accessed by vectors.
static __device__ bool aligned(const unsigned char *one, const unsigned char *other) {
  return ((reinterpret_cast<unsigned long long>(one) | reinterpret_cast<unsigned long long>(other)) &
          (kVector - 1)) == 0;
}

static __device__ bool differ(const unsigned char *left, const unsigned char *right,
                              unsigned long long bytes) {
  if (aligned(left, right) && bytes >= kVector) {
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

// How many bytes of a word are not zero.
static __device__ unsigned nonzero_bytes(unsigned word) {
  word |= word >> 4;
  word |= word >> 2;
  word |= word >> 1;
  return __popc(word & 0x01010101u);
}

static __device__ unsigned different_bytes(const unsigned char *left, const unsigned char *right,
                                           unsigned long long bytes) {
  if (aligned(left, right) && bytes >= kVector) {
    const uint4 a = *reinterpret_cast<const uint4 *>(left);
    const uint4 b = *reinterpret_cast<const uint4 *>(right);
    return nonzero_bytes(a.x ^ b.x) + nonzero_bytes(a.y ^ b.y) + nonzero_bytes(a.z ^ b.z) +
           nonzero_bytes(a.w ^ b.w);
  }
  unsigned different = 0;
  for (unsigned long long i = 0; i < bytes && i < kVector; ++i)
    different += left[i] != right[i];
  return different;
}

// Adds to total the bytes in which two memories differ. Whole warps, a page a block at a time.
extern "C" __global__ void r3_count_differences(const unsigned char *left, const unsigned char *right,
                                                unsigned long long size, unsigned long long *total) {
  unsigned long long found = 0;
  for (unsigned long long page = blockIdx.x; page * kPage < size; page += gridDim.x) {
    const unsigned long long at = page * kPage + threadIdx.x * kVector;
    if (at < size)
      found += different_bytes(left + at, right + at, size - at);
  }
  for (unsigned distance = 16; distance > 0; distance /= 2)
    found += __shfl_down_sync(0xffffffffu, found, distance);
  if (threadIdx.x % 32 == 0 && found != 0)
    atomicAdd(total, found);
}

static __device__ void copy(unsigned char *to, const unsigned char *from, unsigned long long bytes) {
  if (aligned(to, from) && bytes >= kVector) {
    *reinterpret_cast<Vector *>(to) = *reinterpret_cast<const Vector *>(from);
    return;
  }
  for (unsigned long long i = 0; i < bytes && i < kVector; ++i)
    to[i] = from[i];
}

// One block of kPage / kVector threads copies a page at a time; pages holds their numbers.
extern "C" __global__ void r3_copy_pages(unsigned char *__restrict__ to,
                                         const unsigned char *__restrict__ from, unsigned long long size,
                                         const unsigned *__restrict__ pages, unsigned long long count) {
  unsigned long long i = blockIdx.x;
  unsigned page = i < count ? pages[i] : 0;
  while (i < count) {
    i += gridDim.x;
    // Fetched early: the next page does not wait for its number.
    const unsigned next = i < count ? pages[i] : 0;
    const unsigned long long at = 1ull * page * kPage + threadIdx.x * kVector;
    if (at < size)
      copy(to + at, from + at, size - at);
    page = next;
  }
}

// Reads memory that holds zeros, past the L1 caches: lines that only were read leave the L2 cache at no cost
// to whoever comes next. The sum, always 0, keeps the compiler from dropping the loads.
extern "C" __global__ void r3_sweep(const Vector *zeros, unsigned long long vectors, unsigned *sum) {
  const unsigned long long first = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
  Vector found = {0, 0, 0, 0};
  for (unsigned long long i = first; i < vectors; i += 1ull * gridDim.x * blockDim.x) {
    Vector value;
    asm("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
        : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
        : "l"(zeros + i));
    found |= value;
  }
  if (found.x | found.y | found.z | found.w)
    *sum = 1;
}

// What a launch costs that does nothing.
extern "C" __global__ void r3_nothing() {}

// Spins for a while on one thread.
extern "C" __global__ void r3_hold(unsigned long long nanoseconds) {
  unsigned long long start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - start < nanoseconds);
}
