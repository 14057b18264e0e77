// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A command of hipcc in clang's words, for AMD; in nvcc's, for NVIDIA.
#ifndef R3_WRAPPERS_HIPCC_COMMAND_H
#define R3_WRAPPERS_HIPCC_COMMAND_H

#include "result.h"
#include "rocm_tree.h"

#include <string>
#include <vector>

namespace r3 {

enum class HipPlatform { Amd, Nvidia };

/// A question that hipcc answers itself, with standard output.
enum class HipccQuestion { None, Version, ShortVersion, CompileFlags, LinkFlags };

struct HipccCommand {
  std::vector<std::string> arguments; ///< for clang++, or for r3-nvcc
  HipccQuestion question = HipccQuestion::None;
  std::string answer;
};

/// What HIPCC_COMPILE_FLAGS_APPEND and its kin add, split into words.
struct HipccAdditions {
  std::vector<std::string> compile, link;
  std::vector<std::string> architectures; ///< where the command names none
  bool cxxIsHip = true;                   ///< HIP_COMPILE_CXX_AS_HIP
};

/// Translates hipcc's arguments, response files expanded, without the program's name.
Result<HipccCommand> translateHipcc(const std::vector<std::string> &Arguments,
                                    const HipccAdditions &Additions);

/// The same command for r3-nvcc.
HipccCommand translateHipccForNvidia(const std::vector<std::string> &Arguments,
                                     const HipccAdditions &Additions);

} // namespace r3

#endif
