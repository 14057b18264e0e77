// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "pack.h"
#include "r3core/recorder.h"

#include <cstdint>
#include <unordered_map>

namespace r3 {

/// What the pack holds, by what the device calls it: such chunks needn't be copied again. Not locked: there
/// is one snapshot at a time.
class KnownChunks {
public:
  /// Null for a content that is not in the pack yet.
  const Key *find(const Fingerprint &content, std::uint64_t size) const {
    auto known = keys.find({content, size});
    return known == keys.end() ? nullptr : &known->second;
  }
  void add(const Fingerprint &content, std::uint64_t size, const Key &key) { keys[{content, size}] = key; }

private:
  struct Name {
    Fingerprint content;
    std::uint64_t size;
    bool operator==(const Name &other) const { return content == other.content && size == other.size; }
  };
  struct NameHash {
    std::size_t operator()(const Name &name) const { return name.content.first ^ name.size; }
  };
  std::unordered_map<Name, Key, NameHash> keys;
};

} // namespace r3
