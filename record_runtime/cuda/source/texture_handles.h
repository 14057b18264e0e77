// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <vector>

namespace r3::cuda {

/// Texture and surface objects that are alive. Their handles are plain numbers, and mean nothing at replay.
class TextureHandles {
public:
  void made(std::uint64_t handle) {
    std::lock_guard lock(mutex);
    alive.insert(handle);
  }
  void gone(std::uint64_t handle) {
    std::lock_guard lock(mutex);
    alive.erase(handle);
  }
  /// Whether an aligned word of the arguments could be one.
  bool mayBeIn(const std::vector<std::uint8_t> &arguments) const {
    std::lock_guard lock(mutex);
    for (std::size_t at = 0; !alive.empty() && at + 8 <= arguments.size(); at += 8) {
      std::uint64_t word;
      std::memcpy(&word, arguments.data() + at, 8);
      if (alive.count(word))
        return true;
    }
    return false;
  }

private:
  mutable std::mutex mutex;
  std::set<std::uint64_t> alive;
};

} // namespace r3::cuda
