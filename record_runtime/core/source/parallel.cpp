// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "parallel.h"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

using namespace r3;

namespace {

constexpr unsigned MostThreads = 4; // more gain little: memory's bandwidth is used up, and others compress

/// Hands out the work, and keeps what went wrong for the caller.
class Queue {
public:
  Queue(std::size_t count, const std::function<void(std::size_t)> &work) : count(count), work(work) {}
  void run() {
    try {
      for (std::size_t i; (i = next++) < count;)
        work(i);
    } catch (...) {
      std::lock_guard lock(mutex);
      error = std::current_exception();
    }
  }
  void finish() const {
    if (error)
      std::rethrow_exception(error);
  }

private:
  const std::size_t count;
  const std::function<void(std::size_t)> &work;
  std::atomic<std::size_t> next{0};
  std::mutex mutex;
  std::exception_ptr error;
};

} // namespace

unsigned r3::snapshotThreads() {
  return std::clamp(std::thread::hardware_concurrency() / 4, 1u, MostThreads);
}

void r3::inParallel(std::size_t count, unsigned threads, const std::function<void(std::size_t)> &work) {
  Queue queue(count, work);
  std::vector<std::thread> helpers;
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before); // the application's handlers must not run on our threads
  try {
    helpers.reserve(threads);
    while (helpers.size() + 1 < std::min<std::size_t>(threads, count))
      helpers.emplace_back([&] { queue.run(); });
  } catch (const std::exception &) { // then there are fewer
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  queue.run();
  for (std::thread &helper : helpers)
    helper.join();
  queue.finish();
}
