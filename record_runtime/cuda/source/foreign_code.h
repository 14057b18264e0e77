// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace r3::cuda {

/// Device code without an R3 note: one cubin or PTX text, and the names in it.
struct ForeignCode {
  enum class Format { Cubin, Ptx };
  Format format = Format::Cubin;
  int architecture = 0;             ///< 90; 0 if it isn't told
  std::vector<std::uint8_t> image;  ///< not compressed
  std::vector<std::string> kernels; ///< of a cubin also what it has for functions
  std::vector<std::string> variables;
  bool textures = false; ///< it declares texture or surface references
  bool managed = false;  ///< it declares __managed__ variables

  bool holds(const std::string &kernel) const;
};

/// The pieces of what a program gave the driver to load: a fat binary, a cubin or PTX text. Each is unpacked
/// once, when a kernel is first looked for in it.
class ForeignImage {
public:
  /// `image` must stay where it is.
  ForeignImage(const void *image, std::size_t size);

  /// The code of the kernel that runs, by the architectures that the driver says it has; null if none is it.
  std::shared_ptr<const ForeignCode> find(const std::string &kernel, int ptxVersion, int binaryVersion);
  /// The newest PTX of a kernel that a device of this architecture takes; null if there is none.
  std::shared_ptr<const ForeignCode> ptx(const std::string &kernel, int binaryVersion);

private:
  struct Piece {
    ForeignCode::Format format;
    int architecture;
    std::uint64_t flags;
    const std::uint8_t *payload;
    std::size_t size, uncompressed;
    bool unpacked = false;
    std::shared_ptr<const ForeignCode> code; // null if it can't be read
  };
  void readFatBinary(const std::uint8_t *image, std::size_t size);
  static std::shared_ptr<const ForeignCode> unpack(const Piece &piece);
  static std::shared_ptr<const ForeignCode> codeOf(Piece &piece);

  std::vector<Piece> pieces;
};

} // namespace r3::cuda
