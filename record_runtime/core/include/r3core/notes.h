// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace r3 {

/// One global variable of a module, as the note's JSON has it.
struct NoteGlobal {
  std::string name;
  std::uint64_t size = 0;
  bool constantSpace = false;
  bool isMutable = false;
};

/// One parameter: bytes [offset, offset + size) of the argument buffer.
struct Parameter {
  std::uint32_t offset = 0;
  std::uint32_t size = 0;
  bool isScalar = false; ///< a number, as far as it is known: neither a pointer nor a structure
};

struct NoteKernel {
  std::string name;
  std::vector<Parameter> parameters;
  std::vector<std::string> globals;
  bool textures = false; ///< it reads textures or surfaces
};

/// One module that a loaded object carries (docs/binary-format.md). Bitcode is in the object's memory.
struct Note {
  std::string module;        ///< SHA-256 of the bitcode, hex
  std::string architecture;  ///< "sm_90"
  std::string binary;        ///< path of the object
  bool relocatable = false;  ///< -fgpu-rdc
  std::uint64_t wrapper = 0; ///< address of __cuda_fatbin_wrapper, 0 without one
  std::array<std::uint8_t, 32> imageDigest{};
  const std::uint8_t *bitcode = nullptr;
  std::size_t bitcodeSize = 0;
  std::string
      info; ///< the JSON, decompressed; of relocatable code that of the whole module, where it is known
  std::vector<NoteKernel> kernels;
  std::vector<NoteGlobal> globals;

  const NoteKernel *kernel(const std::string &name) const;
  const NoteGlobal *global(const std::string &name) const;
};

/// The notes of all loaded objects. A Note stays valid for ever, but its bitcode goes with its object.
class NoteIndex {
public:
  /// Every note seen so far, after a look at objects loaded since the last call.
  std::vector<const Note *> all();
  /// Notes (one an architecture) of the fat binary with this wrapper.
  std::vector<const Note *> byWrapper(const void *wrapper);
  /// Notes of a copied fat binary.
  std::vector<const Note *> byDigest(const std::array<std::uint8_t, 32> &digest);
  /// Relocatable notes of one object that hold the kernel, each module once.
  std::vector<const Note *> byKernel(const std::string &binary, const std::string &kernel);
  /// Relocatable notes of one object, each module once.
  std::vector<const Note *> relocatable(const std::string &binary);

private:
  void refresh();
  std::mutex mutex;
  std::vector<std::unique_ptr<Note>> notes;
  std::vector<const Note *> active;            // those whose object is loaded
  std::map<std::uint64_t, const Note *> known; // by descriptor address; null: not readable
  unsigned long long loads = 0, unloads = 0;
};

/// Path of the loaded object that the address lies in, as notes name it; empty if there is none.
std::string objectPath(const void *address);

/// SHA-256, as FIPS 180-4 has it.
std::array<std::uint8_t, 32> sha256(const void *data, std::size_t size);

} // namespace r3
