// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The threads that blocks are spread over.
#ifndef R3CPU_WORKER_POOL_H
#define R3CPU_WORKER_POOL_H

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace r3::cpu {

class WorkerPool {
public:
  /// Work on one range of items by one worker; false ends the run early.
  using Work = std::function<bool(unsigned worker, uint64_t first, uint64_t last)>;

  /// `workers` counts the calling thread, which works, too. There are fewer where the system gives no more
  /// threads.
  explicit WorkerPool(unsigned workers);
  ~WorkerPool();
  WorkerPool(const WorkerPool &) = delete;
  WorkerPool &operator=(const WorkerPool &) = delete;

  unsigned workers() const { return static_cast<unsigned>(threads_.size()) + 1; }
  /// Calls `work` for ranges that together are [0, items), and returns when all are done. One run at a time.
  void run(uint64_t items, const Work &work);

private:
  struct Job {
    const Work *work;
    uint64_t items;
    uint64_t chunk;
    std::atomic<uint64_t> next{0};
    std::atomic<bool> stop{false};
  };

  void serve(unsigned worker);
  static void takeChunks(unsigned worker, Job &job);

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  Job *job_ = nullptr;
  uint64_t generation_ = 0;
  unsigned busy_ = 0;
  bool closing_ = false;
};

} // namespace r3::cpu

#endif
