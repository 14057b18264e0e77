// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Sums squares on four threads, many times, and throws from one of them.
#include "parallel.h"

#include <atomic>
#include <csignal>
#include <cstdio>
#include <stdexcept>
#include <vector>

int main() {
  for (std::size_t count : {0, 1, 3, 32, 1000})
    for (int round = 0; round < 50; ++round) {
      std::vector<int> calls(count);
      r3::inParallel(count, 4, [&](std::size_t i) { calls[i] += int(i) + 1; });
      for (std::size_t i = 0; i < count; ++i)
        if (calls[i] != int(i) + 1)
          return std::printf("%zu of %zu was called wrongly\n", i, count), 1;
    }
  try {
    r3::inParallel(100, 4, [](std::size_t i) {
      if (i == 50)
        throw std::runtime_error("fifty");
    });
    return std::puts("nothing was thrown"), 1;
  } catch (const std::runtime_error &error) {
    std::puts(error.what());
  }
  sigset_t blocked;
  pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
  return sigismember(&blocked, SIGTERM);
}
