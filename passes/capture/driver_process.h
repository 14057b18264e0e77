// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The clang driver that started this compilation: what the compilations of one command share when no R3
// wrapper stands before it.
#ifndef R3_CAPTURE_DRIVER_PROCESS_H
#define R3_CAPTURE_DRIVER_PROCESS_H

#include <optional>
#include <string>
#include <vector>

namespace r3 {

class DriverProcess {
public:
  /// Nothing where this process is no cc1 that a driver started (opt, cc1 by hand).
  static std::optional<DriverProcess> current();

  /// What the user typed, response files expanded.
  std::vector<std::string> command() const;
  /// Where.
  std::string directory() const;

  /// Opens this source's file for appending, making it if need be; -1 where it can't. Files of drivers that
  /// died before they were taken are removed.
  int makeTemporaryFile() const;

  /// Opens this source's file and removes its name; -1 where there is none.
  int takeTemporaryFile() const;

private:
  DriverProcess(int Process, std::string Identity) : Process(Process), Identity(std::move(Identity)) {}

  std::string temporaryFile() const;

  int Process;
  std::string Identity; ///< of the process for all time: its number and when it started
};

} // namespace r3

#endif
