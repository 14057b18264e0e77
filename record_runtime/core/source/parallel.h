// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include <cstddef>
#include <functional>

namespace r3 {

/// Calls `work(i)` for every i below `count` on up to `threads` threads, the caller's among them, and returns
/// when all is done; rethrows what it threw. The other threads last only as long as the call.
void inParallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)> &work);

/// Threads that a snapshot may take: the program is held back meanwhile.
unsigned snapshotThreads();

} // namespace r3
