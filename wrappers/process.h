// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the wrapper speaks, fails, and becomes another program.
#ifndef R3_WRAPPERS_PROCESS_H
#define R3_WRAPPERS_PROCESS_H

#include <string>
#include <vector>

namespace r3 {

/// The status of the wrapper's own errors, which clang never returns.
constexpr int WrapperError = 125;

void say(const std::string &Sentence);
[[noreturn]] void fail(const std::string &Sentence);

/// A compiler found through PATH or a cache may be this wrapper again, for ever: fails at the eighth.
void guardAgainstRecursion();

/// Runs Program in place of the wrapper: streams, descriptors and status are its own from here on. A command
/// that the system would refuse for its length goes through a response file without a name.
[[noreturn]] void become(const std::string &Program, const std::vector<std::string> &Arguments);

/// Runs Program and waits; its exit status, 128 and the signal, or WrapperError if it can't be run.
int runAndWait(const std::string &Program, const std::vector<std::string> &Arguments);

/// What Program prints to standard output; empty if it can't be run or fails.
std::string outputOf(const std::string &Program, const std::vector<std::string> &Arguments);

} // namespace r3

#endif
