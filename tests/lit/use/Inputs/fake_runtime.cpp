// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Prints what the application launches, and the device code that it is.
#include <cstddef>
#include <cstdio>
#include <map>
#include <string>

struct Dimensions {
  unsigned x, y, z;
};

static Dimensions grid, block;
static size_t shared;
static void *stream;

static std::map<const void *, std::string> &names() {
  static std::map<const void *, std::string> Registered;
  return Registered;
}

extern "C" unsigned __cudaPushCallConfiguration(Dimensions Grid, Dimensions Block, size_t Shared,
                                                void *Stream) {
  grid = Grid, block = Block, shared = Shared, stream = Stream;
  return 0;
}

extern "C" int __cudaPopCallConfiguration(Dimensions *Grid, Dimensions *Block, size_t *Shared,
                                          void **Stream) {
  *Grid = grid, *Block = block, *Shared = shared, *Stream = stream;
  return 0;
}

extern "C" int cudaLaunchKernel(const void *Kernel, Dimensions Grid, Dimensions Block, void **Arguments,
                                size_t Shared, void *) {
  std::printf("n=%d grid %u,%u,%u block %u,%u,%u shared %zu %s\n", *static_cast<int *>(Arguments[0]), Grid.x,
              Grid.y, Grid.z, Block.x, Block.y, Block.z, Shared, names()[Kernel].c_str());
  return 0;
}

extern "C" void **__cudaRegisterFatBinary(void *) { return nullptr; }
extern "C" void __cudaRegisterFatBinaryEnd(void **) {}
extern "C" void __cudaUnregisterFatBinary(void **) {}
extern "C" int __cudaRegisterFunction(void **, const char *Key, char *, const char *Name, int, void *, void *,
                                      void *, void *, int *) {
  names()[Key] = Name;
  return 0;
}
extern "C" void __cudaRegisterVar(void **, char *, char *, const char *, int, size_t, int, int) {}
extern "C" void __cudaRegisterManagedVar(void **, void **, char *, const char *, size_t, unsigned) {}
