// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/fat_binary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/SHA256.h"

using namespace llvm;

namespace r3 {
namespace {

/// The bytes that the wrapper {magic, version, pointer to fat binary, unused} points to.
StringRef contents(const GlobalVariable &Wrapper) {
  const auto *Fields = dyn_cast<ConstantStruct>(Wrapper.getInitializer());
  if (!Fields || Fields->getNumOperands() < 3)
    return {};
  const auto *Binary = dyn_cast<GlobalVariable>(Fields->getOperand(2)->stripPointerCasts());
  if (!Binary || !Binary->hasInitializer())
    return {};
  const auto *Bytes = dyn_cast<ConstantDataSequential>(Binary->getInitializer());
  return Bytes ? Bytes->getRawDataValues() : StringRef();
}

/// Cuts off what the compiler may have put behind it: the fat binary's header says how long it is.
StringRef withoutPadding(StringRef Bytes) {
  constexpr uint32_t Magic = 0xBA55ED50;
  constexpr size_t HeaderSize = 16; // magic 4, version 2, size of header 2, size of all after it 8
  if (Bytes.size() < HeaderSize || support::endian::read32le(Bytes.data()) != Magic)
    return Bytes;
  return Bytes.substr(0, support::endian::read16le(Bytes.data() + 6) +
                             support::endian::read64le(Bytes.data() + 8));
}

std::array<uint8_t, 32> digest(StringRef Bytes) {
  if (Bytes.empty())
    return {};
  return SHA256::hash(arrayRefFromStringRef(withoutPadding(Bytes)));
}

} // namespace

std::optional<FatBinary> findFatBinary(Module &M) {
  // Relocatable device code is registered at link. The sections are those of clang's new and old offload
  // drivers.
  for (const GlobalVariable &G : M.globals())
    if (G.getSection() == ".llvm.offloading" || G.getSection() == "__nv_relfatbin")
      return FatBinary{nullptr, {}};
  for (StringRef Name : {"__cuda_fatbin_wrapper", "__hip_fatbin_wrapper"})
    if (GlobalVariable *Wrapper = M.getNamedGlobal(Name); Wrapper && Wrapper->hasInitializer())
      return FatBinary{Wrapper, digest(contents(*Wrapper))};
  return std::nullopt;
}

} // namespace r3
