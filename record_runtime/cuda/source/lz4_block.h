// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <cstdint>

namespace r3::cuda {

/// Decompresses one block of the LZ4 format into exactly `size` bytes; false where the block is damaged.
bool decompressLz4(const std::uint8_t *from, std::size_t fromSize, std::uint8_t *to, std::size_t size);

} // namespace r3::cuda
