// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends of a process that run no destructors.

#include "wrappers.h"

#include <sys/syscall.h>
#include <unistd.h>

namespace {

[[noreturn]] void end(int status) {
  r3::cuda::Session::finishAtOnce();
  for (;;)
    syscall(SYS_exit_group, status);
}

} // namespace

R3_EXPORT __attribute__((noreturn)) void _exit(int status) { end(status); }
R3_EXPORT __attribute__((noreturn)) void _Exit(int status) { end(status); }
