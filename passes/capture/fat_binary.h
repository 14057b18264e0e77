// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3_CAPTURE_FAT_BINARY_H
#define R3_CAPTURE_FAT_BINARY_H

#include <array>
#include <cstdint>
#include <optional>

namespace llvm {
class GlobalVariable;
class Module;
} // namespace llvm

namespace r3 {

/// The device code that clang put into a host module.
struct FatBinary {
  llvm::GlobalVariable *wrapper; ///< what the runtime registers; null with relocatable device code
  std::array<uint8_t, 32>
      sha256; ///< of the fat binary; zero where another object holds it, as with relocatable device code
};

/// Nothing for a module without device code.
std::optional<FatBinary> findFatBinary(llvm::Module &M);

} // namespace r3

#endif
