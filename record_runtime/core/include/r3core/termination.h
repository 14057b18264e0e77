// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace r3 {

/// Has `finish` called before the process ends by a signal that the program leaves to its default: the
/// scheduler's SIGTERM or its warning (SIGUSR1, SIGUSR2, SIGXCPU), Ctrl-C, a lost terminal. The process then
/// ends by that signal all the same. Handlers that the program has, or sets later, are left alone.
void finishBeforeSignals(void (*finish)());

/// In a forked child: signals are the child's own again.
void leaveSignalsAlone();

} // namespace r3
