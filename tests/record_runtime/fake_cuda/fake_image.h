// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a program for the fake driver gives as device code: functions of its own, in the shape of a fat
// binary.
#pragma once

#include <cstddef>
#include <cstdint>

namespace fake {

struct Extent {
  unsigned x, y, z;
};

/// One launch, as a kernel sees it. Kernels run once a launch, not once a thread.
struct Launch {
  Extent grid, block;
  void *const *arguments;
  void *(*global)(const Launch &launch, const char *name);
  void *library;

  template <typename T> T argument(int index) const { return *static_cast<const T *>(arguments[index]); }
};

struct Parameter {
  std::size_t offset, size;
};

struct Function {
  const char *name;
  void (*run)(const Launch &launch);
  const Parameter *parameters;
  std::size_t parameterCount;
};

struct Global {
  const char *name;
  std::size_t size;
  const void *initial;
};

/// A fat binary's description of PTX text that follows it.
struct Piece {
  std::uint16_t kind = 1, version = 0x101;
  std::uint32_t headerSize = 64;
  std::uint64_t payloadSize = 512;
  std::uint32_t compressedSize = 0, options = 0, tool = 0x80008, architecture = 90, unused[2] = {0, 0};
  std::uint64_t flags = 0x11, reserved = 0, uncompressedSize = 0;
};

/// Begins as a fat binary does, so that its size can be told, and PTX found in it.
struct Image {
  std::uint32_t magic = 0xba55ed50;
  std::uint16_t version = 1, headerSize = 16;
  std::uint64_t size = sizeof(Image) - 16;
  Piece piece;
  char ptx[512] = "";
  char tag[8] = {'f', 'a', 'k', 'e', 'c', 'o', 'd', 'e'};
  int ptxVersion, binaryVersion;
  const Function *functions;
  std::size_t functionCount;
  const Global *globals;
  std::size_t globalCount;
};

struct Wrapper {
  std::uint32_t magic = 0x466243b1, version = 1;
  const void *data;
  void *unused = nullptr;
};

} // namespace fake
