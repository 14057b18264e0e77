// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/synchronizer.h"

#include <csignal>
#include <system_error>
#include <thread>

using namespace r3;

bool Synchronizer::startThread() {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  try {
    std::thread([this] { work(); }).detach();
    running = true;
  } catch (const std::system_error &) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return running;
}

void Synchronizer::work() {
  std::unique_lock lock(mutex);
  for (;;) {
    asked.wait(lock, [&] { return busy; });
    std::function<bool()> synchronize = std::move(wanted);
    lock.unlock();
    bool idle = synchronize();
    lock.lock();
    wentWell = idle;
    busy = false;
    answered.notify_all();
  }
}

Synchronizer::Outcome Synchronizer::wait(std::function<bool()> synchronize,
                                         std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex);
  if (!running && !startThread())
    return Outcome::Failed;
  if (busy)
    return Outcome::TimedOut; // still at the last one
  wanted = std::move(synchronize);
  busy = true;
  asked.notify_all();
  if (!answered.wait_for(lock, deadline, [&] { return !busy; }))
    return Outcome::TimedOut;
  return wentWell ? Outcome::Idle : Outcome::Failed;
}
