// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "synchronizer.h"

#include <csignal>
#include <system_error>
#include <thread>

using namespace r3::cuda;

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
    CUcontext context = wanted;
    lock.unlock();
    CUresult outcome = driver().cuCtxSetCurrent(context);
    if (outcome == CUDA_SUCCESS)
      outcome = driver().cuCtxSynchronize();
    lock.lock();
    result = outcome;
    busy = false;
    answered.notify_all();
  }
}

Synchronizer::Outcome Synchronizer::wait(CUcontext context, std::chrono::milliseconds deadline) {
  std::unique_lock lock(mutex);
  if (!running && !startThread())
    return Outcome::Failed;
  if (busy)
    return Outcome::TimedOut; // still at the last one
  wanted = context;
  busy = true;
  asked.notify_all();
  if (!answered.wait_for(lock, deadline, [&] { return !busy; }))
    return Outcome::TimedOut;
  return result == CUDA_SUCCESS ? Outcome::Idle : Outcome::Failed;
}
