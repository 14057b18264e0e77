// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "hipcc.h"

#include "capture.h"
#include "command_line.h"
#include "compiler.h"
#include "cuda_tree.h"
#include "hipcc_command.h"
#include "nvcc.h"
#include "process.h"
#include "profile.h"
#include "programs.h"
#include "text.h"

#include <cstdio>
#include <cstdlib>

namespace r3 {
namespace {

using Words = std::vector<std::string>;

/// HIP_PLATFORM, else AMD where HIP for AMD is there, or where nothing is.
HipPlatform platform() {
  std::string Named = environment("HIP_PLATFORM");
  if (Named == "nvidia" || Named == "nvcc")
    return HipPlatform::Nvidia;
  if (Named == "amd" || Named == "hcc")
    return HipPlatform::Amd;
  if (!Named.empty())
    fail("HIP_PLATFORM is '" + Named + "'; it is amd or nvidia");
  return !findRocmTree({}) && findCudaTree("") ? HipPlatform::Nvidia : HipPlatform::Amd;
}

/// HCC_AMDGPU_TARGET, else the GPUs of this machine; none means clang's default.
Words defaultArchitectures() {
  if (std::string Named = environment("HCC_AMDGPU_TARGET"); !Named.empty())
    return split(Named, ',');
  Words Found;
  std::string Program = findOnPath("rocm_agent_enumerator");
  if (Program.empty())
    return Found;
  for (const std::string &Line : split(outputOf(Program, {"-t", "GPU"}), '\n'))
    if (startsWith(Line, "gfx") && Line != "gfx000")
      Found.push_back(Line);
  return Found;
}

bool namesArchitecture(const Words &Arguments) {
  for (const std::string &Argument : Arguments)
    if (startsWith(Argument, "--offload-arch=") || startsWith(Argument, "--amdgpu-target="))
      return true;
  return false;
}

HipccAdditions additions(const Words &Arguments) {
  HipccAdditions Added;
  Added.compile = splitWords(environment("HIPCC_COMPILE_FLAGS_APPEND"));
  Added.link = splitWords(environment("HIPCC_LINK_FLAGS_APPEND"));
  Added.cxxIsHip = environment("HIP_COMPILE_CXX_AS_HIP") != "0";
  if (!namesArchitecture(Arguments))
    Added.architectures = defaultArchitectures();
  return Added;
}

/// HIP_CLANG_PATH's compiler, unless R3_CLANG names one.
Result<std::string> findHipClang() {
  std::string Folder = environment("HIP_CLANG_PATH");
  if (Folder.empty() || !environment("R3_CLANG").empty())
    return findCompiler(Driver::CXX);
  if (std::string Compiler = Folder + "/clang++"; isProgram(Compiler))
    return Compiler;
  return Problem{"HIP_CLANG_PATH names " + Folder +
                 ", which has no clang++; set it to the folder of clang 22"};
}

/// HIPCC_VERBOSE is a set of bits: 1 the command, 2 the paths, 4 hipcc's own arguments.
void sayCommand(const std::string &Program, const Words &Arguments) {
  if (std::atoi(environment("HIPCC_VERBOSE").c_str()) & 1) {
    std::printf("hipcc-cmd: %s %s\n", Program.c_str(), join(Arguments, " ").c_str());
    std::fflush(stdout);
  }
}

void sayArguments(const Words &Arguments) {
  if (std::atoi(environment("HIPCC_VERBOSE").c_str()) & 4) {
    std::printf("hipcc-args: %s\n", join(Arguments, " ").c_str());
    std::fflush(stdout);
  }
}

[[noreturn]] void runForAmd(const Words &Complete, const HipccAdditions &Added) {
  Result<HipccCommand> Command = translateHipcc(Complete, Added);
  if (!Command)
    fail(Command.problem());
  std::fputs(Command->answer.c_str(), stdout);
  std::fflush(stdout);
  if (Command->question != HipccQuestion::None && Command->question != HipccQuestion::Version)
    std::exit(0);
  Result<std::string> Compiler = findHipClang();
  if (!Compiler)
    fail(Compiler.problem());
  if (Command->question == HipccQuestion::Version)
    become(*Compiler, {"--version"});
  Words Arguments = captureFlags(*Compiler, Driver::CXX, Command->arguments);
  Arguments.insert(Arguments.end(), Command->arguments.begin(), Command->arguments.end());
  sayCommand(*Compiler, Arguments);
  become(*Compiler, Arguments);
}

[[noreturn]] void runForNvidia(const Words &Complete, const HipccAdditions &Added) {
  HipccCommand Command = translateHipccForNvidia(Complete, Added);
  sayCommand("r3-nvcc", Command.arguments);
  runNvcc(Command.arguments);
}

} // namespace

void runHipcc(const Words &Arguments) {
  sayArguments(Arguments);
  Words Complete = expandResponseFiles(withProfile(Arguments));
  HipccAdditions Added = additions(Complete);
  if (platform() == HipPlatform::Nvidia)
    runForNvidia(Complete, Added);
  runForAmd(Complete, Added);
}

} // namespace r3
