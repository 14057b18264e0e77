// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "driver.h"
#include "r3core/arena.h"

#include <atomic>

namespace r3::cuda {

/// Pinned host memory at fixed addresses, which devices see at the same ones (docs/store-format.md).
class PinnedPages : public Pages {
public:
  static constexpr std::uint64_t Base = 0x400000000000, Size = std::uint64_t(1) << 40;

  bool reserve(std::uint64_t base, std::uint64_t size) override;
  bool map(std::uint64_t address, std::uint64_t size) override;
  void unmap(std::uint64_t address, std::uint64_t size) override;
  std::uint64_t granule() const override { return std::uint64_t(2) << 20; }
  /// False once the driver has given host memory another address on the device.
  bool usable() const { return !addressesDiffer; }

private:
  std::atomic<bool> addressesDiffer{false};
};

} // namespace r3::cuda
