// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ends of a process that run no destructors. Built into each library that is preloaded.

#include "r3core/termination.h"

#include <sys/syscall.h>
#include <unistd.h>

#define R3_EXPORT extern "C" __attribute__((visibility("default"), noreturn))

namespace {

[[noreturn]] void end(int status) {
  r3::finishBeforeExit();
  for (;;)
    syscall(SYS_exit_group, status);
}

} // namespace

R3_EXPORT void _exit(int status) { end(status); }
R3_EXPORT void _Exit(int status) { end(status); }
