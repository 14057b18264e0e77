// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command of the compilation that runs this plugin (clang -cc1 …).
#ifndef R3_CAPTURE_CC1_COMMAND_H
#define R3_CAPTURE_CC1_COMMAND_H

#include <string>
#include <vector>

namespace r3 {

/// The facts of a cc1 command that neither the IR nor the target machine holds.
struct Cc1Command {
  std::string input;    ///< as the driver passed it; "-" for standard input
  std::string mainFile; ///< base name of the user's source, also when the input is a preprocessed file
  std::string
      unitId; ///< clang's -cuid, equal for the device and host compilations of one source; may be empty
  std::vector<std::string> llvmOptions; ///< values of -mllvm
  std::vector<std::string>
      builtinBitcode;    ///< values of -mlink-builtin-bitcode: libdevice, ROCm's device libraries
  std::string debugInfo; ///< value of -debug-info-kind; empty without debug info
  bool relocatableDeviceCode = false;

  /// Names the source within one driver command.
  std::string unit() const { return mainFile + '\n' + unitId; }
};

Cc1Command parseCc1Command(const std::vector<std::string> &Arguments);

/// The arguments of a running process, its name first, response files expanded; empty without such a process.
std::vector<std::string> commandOf(int Process);

/// This process's own command, response files expanded.
Cc1Command currentCc1Command();

} // namespace r3

#endif
