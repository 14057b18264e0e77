// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

namespace r3 {

/// Has `finish` called before the process ends by a signal that the program leaves to its default: the
/// scheduler's SIGTERM or its warning (SIGUSR1, SIGUSR2, SIGXCPU), Ctrl-C, a lost terminal. The process then
/// ends by that signal all the same. Handlers that the program has, or sets later, are left alone.
void finishBeforeSignals(void (*finish)());

/// Has that `finish` called now, by a thread of its own, and waits for it, though not for ever: programs call
/// _exit from handlers of signals, which may have interrupted this very thread within the recorder or the
/// allocator. Does nothing in a forked child, and where finishBeforeSignals was never called.
void finishBeforeExit();

/// In a forked child: signals are the child's own again.
void leaveSignalsAlone();

} // namespace r3
