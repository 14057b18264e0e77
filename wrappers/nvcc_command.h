// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command of nvcc in clang's words.
#ifndef R3_WRAPPERS_NVCC_COMMAND_H
#define R3_WRAPPERS_NVCC_COMMAND_H

#include "cuda_tree.h"
#include "result.h"

#include <string>
#include <vector>

namespace r3 {

enum class NvccPhase {
  Program,
  Object,
  DeviceLink,
  Library,
  Ptx,
  Cubin,
  Inspect, ///< -E, -M and their kin: text, no code
  Toolkit, ///< --version, --help, lists of GPUs
};

struct ClangCommand {
  NvccPhase phase;
  std::vector<std::string> arguments; ///< for clang++
  std::vector<std::string> inputs;
  std::string output; ///< -o, empty if none
  CudaTree cuda;
  std::vector<std::string> notes;           ///< what was dropped, and why
  std::vector<std::string> deviceLinkFlags; ///< of the compiler that -dlink starts
  bool verbose = false;
};

/// Translates nvcc's arguments, response files expanded, without the program's name. A problem names the flag
/// that clang has no equal for.
Result<ClangCommand> translateNvcc(const std::vector<std::string> &Arguments);

} // namespace r3

#endif
