// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the recorder runs on the device itself, so that memory which it has stored before never crosses the
// bus: fingerprints of chunks, and a search for words that could be pointers. chunk_kernels.ptx is this file,
// compiled once by hand; the driver makes machine code of it at load:
//   clang++ -O3 --cuda-device-only --cuda-gpu-arch=sm_75 --cuda-feature=+ptx63 -S chunk_kernels.cu -o
//   chunk_kernels.ptx

using Word = unsigned long long;

constexpr unsigned kThreads = 256;

// Two independent 64-bit hashes of the same words. Every step maps each of its inputs one to one, so that a
// single changed word always changes both.
struct Lanes {
  Word first, second;
};

static __device__ Word rotate(Word value, unsigned bits) { return value << bits | value >> (64 - bits); }

static __device__ void take(Lanes &lanes, Word word) {
  lanes.first = rotate(lanes.first + word * 0x9ddfea08eb382d69ull, 29) * 0xc2b2ae3d27d4eb4full;
  lanes.second = rotate(lanes.second ^ word * 0xff51afd7ed558ccdull, 37) * 0x8ebc6af09c88c6e3ull;
}

static __device__ Word scramble(Word value) {
  value = (value ^ value >> 32) * 0xd6e8feb86659fd93ull;
  value = (value ^ value >> 29) * 0xa0761d6478bd642full;
  return value ^ value >> 32;
}

static __device__ void join(Lanes &left, const Lanes &right) {
  left.first = scramble(rotate(left.first, 25) * 0xe7037ed1a0b428dbull + right.first);
  left.second = scramble(rotate(left.second, 31) * 0x589965cc75374cc3ull ^ right.second);
}

// The last bytes of a memory, fewer than a vector, filled up with zeros.
static __device__ void takeTail(Lanes &lanes, const unsigned char *bytes, unsigned count) {
  Word low = 0, high = 0;
  for (unsigned i = 0; i < count && i < 8; ++i)
    low |= Word(bytes[i]) << i * 8;
  for (unsigned i = 8; i < count; ++i)
    high |= Word(bytes[i]) << (i - 8) * 8;
  take(lanes, low);
  take(lanes, high);
}

// One block of kThreads threads a chunk; `memory` is aligned to 16 bytes.
extern "C" __global__ void r3_fingerprints(const unsigned char *__restrict__ memory, Word size,
                                           Word chunkBytes, Lanes *__restrict__ fingerprints) {
  const Word begin = blockIdx.x * chunkBytes;
  const Word bytes = size - begin < chunkBytes ? size - begin : chunkBytes;
  const unsigned vectors = unsigned(bytes / sizeof(ulonglong2));
  const auto *content = reinterpret_cast<const ulonglong2 *>(memory + begin);
  Lanes lanes = {scramble(bytes + threadIdx.x), scramble(~bytes - threadIdx.x)};
#pragma unroll 4
  for (unsigned i = threadIdx.x; i < vectors; i += kThreads) {
    const ulonglong2 vector = content[i];
    take(lanes, vector.x);
    take(lanes, vector.y);
  }
  const unsigned tail = unsigned(bytes % sizeof(ulonglong2));
  if (tail && threadIdx.x == 0)
    takeTail(lanes, memory + begin + bytes - tail, tail);

  __shared__ Lanes all[kThreads];
  all[threadIdx.x] = lanes;
  for (unsigned step = kThreads / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step)
      join(all[threadIdx.x], all[threadIdx.x + step]);
  }
  if (threadIdx.x == 0)
    fingerprints[blockIdx.x] = {scramble(all[0].first), scramble(all[0].second)};
}

// Where a pointer may lead: addresses from `first` to `last`, both included.
struct Target {
  Word first, last;
};

static __device__ void mark(Word word, const Target *targets, unsigned count, unsigned char *hits) {
  unsigned low = 0, high = count; // ends with the number of targets that begin at or before the word
  while (low < high) {
    const unsigned middle = (low + high) / 2;
    if (targets[middle].first <= word)
      low = middle + 1;
    else
      high = middle;
  }
  // The end of one target may be the beginning of the next.
  for (unsigned back = 1; back <= 2 && back <= low; ++back)
    if (word <= targets[low - back].last)
      hits[low - back] = 1;
}

// Marks the targets, sorted and at least one, that some word of the memory lies in.
extern "C" __global__ void r3_find_pointers(const Word *__restrict__ words, Word wordCount,
                                            const Target *__restrict__ targets, unsigned targetCount,
                                            unsigned char *__restrict__ hits) {
  const Word lowest = targets[0].first, highest = targets[targetCount - 1].last;
  const Word stride = Word(gridDim.x) * blockDim.x;
#pragma unroll 4
  for (Word i = Word(blockIdx.x) * blockDim.x + threadIdx.x; i < wordCount; i += stride) {
    const Word word = words[i];
    if (word >= lowest && word <= highest)
      mark(word, targets, targetCount, hits);
  }
}
