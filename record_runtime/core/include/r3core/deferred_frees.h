// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstdint>
#include <deque>

namespace r3 {

/// Memory that is to be freed once a stream has come to a point. `Api` is as r3::Timer takes it, with
/// createUntimed() and destroy(). Not locked. `Release` is called with an address and says whether it freed
/// it.
template <typename Api> class DeferredFrees {
public:
  /// False if the stream takes no event: then nothing is kept.
  bool add(typename Api::Context context, typename Api::Stream stream, std::uint64_t address) {
    typename Api::Event passed{};
    if (!Api::createUntimed(passed))
      return false;
    if (!Api::record(passed, stream)) {
      Api::destroy(passed);
      return false;
    }
    entries.push_back({context, passed, address});
    return true;
  }

  bool empty() const { return entries.empty(); }

  /// Frees what streams have passed. Says whether anything was freed.
  template <typename Release> bool collect(Release release) {
    [[maybe_unused]] typename Api::Querying undisturbed;
    bool freed = false;
    for (auto entry = entries.begin(); entry != entries.end();) {
      if (!Api::isReached(entry->passed)) {
        ++entry;
        continue;
      }
      Api::destroy(entry->passed);
      freed = release(entry->address) || freed;
      entry = entries.erase(entry);
    }
    return freed;
  }

  /// A context is gone, and with it its streams and events.
  template <typename Release> void forget(typename Api::Context context, Release release) {
    for (auto entry = entries.begin(); entry != entries.end();) {
      if (entry->context != context) {
        ++entry;
        continue;
      }
      release(entry->address);
      entry = entries.erase(entry);
    }
  }

private:
  struct Entry {
    typename Api::Context context;
    typename Api::Event passed;
    std::uint64_t address;
  };
  std::deque<Entry> entries;
};

} // namespace r3
