// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "worker_pool.h"

#include <algorithm>
#include <csignal>
#include <system_error>

namespace r3::cpu {

// Enough chunks for blocks of unequal cost, few enough that the counter is not the bottleneck.
static constexpr uint64_t kChunksPerWorker = 16;

WorkerPool::WorkerPool(unsigned workers) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every,
                  &before); // the program's handlers must not run on a kernel's small stack
  try {
    threads_.reserve(workers);
    for (unsigned worker = 1; worker < workers; ++worker)
      threads_.emplace_back([this, worker] { serve(worker); });
  } catch (const std::system_error &) { // a limit of the process: then there are fewer
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

WorkerPool::~WorkerPool() {
  {
    std::lock_guard lock(mutex_);
    closing_ = true;
  }
  wake_.notify_all();
  for (std::thread &thread : threads_)
    thread.join();
}

void WorkerPool::takeChunks(unsigned worker, Job &job) {
  while (!job.stop.load(std::memory_order_relaxed)) {
    uint64_t first = job.next.fetch_add(job.chunk, std::memory_order_relaxed);
    if (first >= job.items)
      return;
    if (!(*job.work)(worker, first, std::min(first + job.chunk, job.items)))
      job.stop = true;
  }
}

void WorkerPool::run(uint64_t items, const Work &work) {
  Job job{&work, items, std::max<uint64_t>(1, items / (workers() * kChunksPerWorker))};
  if (items <= 1 || threads_.empty()) {
    takeChunks(0, job);
    return;
  }
  {
    std::lock_guard lock(mutex_);
    job_ = &job;
    ++generation_;
  }
  wake_.notify_all();
  takeChunks(0, job);
  std::unique_lock lock(mutex_);
  job_ = nullptr;
  idle_.wait(lock, [this] { return busy_ == 0; });
}

void WorkerPool::serve(unsigned worker) {
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [&] { return closing_ || (job_ && generation_ != seen); });
    if (closing_)
      return;
    seen = generation_;
    Job *job = job_;
    ++busy_;
    lock.unlock();
    takeChunks(worker, *job);
    lock.lock();
    if (--busy_ == 0)
      idle_.notify_all();
  }
}

} // namespace r3::cpu
