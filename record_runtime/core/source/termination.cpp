// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/termination.h"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <pthread.h>
#include <semaphore.h>
#include <system_error>
#include <thread>
#include <unistd.h>

namespace {

constexpr int Ending[] = {SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGXCPU};

/// A scheduler and a launcher both pass a signal on: only one that comes later than this is impatience.
constexpr std::time_t PatienceSeconds = 5;

/// For how long _exit waits for the recording to be written.
constexpr std::time_t ExitSeconds = 10;

sem_t arrived, finished; // not pipes: programs close, count and reuse descriptors that they don't know
pid_t owner = 0;         // the process that the thread below serves
std::atomic<int> first{0};
std::atomic<std::time_t> since{0};

std::time_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec;
}

void restoreDefault(int signal) {
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(signal, &standard, nullptr);
}

/// Only what a handler may call. A thread does the work.
void received(int signal) {
  int error = errno;
  int none = 0;
  if (getpid() != owner) { // a forked child, which has no thread of ours, before it left signals alone
    restoreDefault(signal);
    raise(signal);
  } else if (first.compare_exchange_strong(none, signal)) {
    since = now();
    sem_post(&arrived);
  } else if (now() - since > PatienceSeconds) {
    restoreDefault(signal);
    raise(signal);
  }
  errno = error;
}

void watch(void (*finish)()) {
  while (sem_wait(&arrived) != 0)
    ;
  finish();
  sem_post(&finished);
  if (!first) // _exit: the caller ends the process
    return;
  restoreDefault(first);
  kill(getpid(), first);
}

bool startThread(void (*finish)()) {
  sigset_t every, before;
  sigfillset(&every);
  pthread_sigmask(SIG_BLOCK, &every, &before);
  bool started = true;
  try {
    std::thread(watch, finish).detach();
  } catch (const std::system_error &) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

bool isDefault(const struct sigaction &action) {
  return !(action.sa_flags & SA_SIGINFO) && action.sa_handler == SIG_DFL;
}

} // namespace

void r3::finishBeforeSignals(void (*finish)()) {
  if (sem_init(&arrived, 0, 0) != 0 || sem_init(&finished, 0, 0) != 0 || !startThread(finish))
    return;
  owner = getpid();
  struct sigaction own = {}, known;
  own.sa_handler = received;
  own.sa_flags = SA_RESTART;
  for (int signal : Ending)
    if (sigaction(signal, nullptr, &known) == 0 && isDefault(known))
      sigaction(signal, &own, nullptr);
}

void r3::finishBeforeExit() {
  if (getpid() != owner)
    return;
  sem_post(&arrived);
  timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += ExitSeconds;
  while (sem_timedwait(&finished, &deadline) != 0 && errno == EINTR)
    ;
}

void r3::leaveSignalsAlone() {
  struct sigaction known;
  for (int signal : Ending)
    if (sigaction(signal, nullptr, &known) == 0 && !(known.sa_flags & SA_SIGINFO) &&
        known.sa_handler == received)
      restoreDefault(signal);
}
