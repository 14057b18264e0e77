// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// r3-clang, r3-clang++, r3-nvcc, r3-hipcc and r3-launch: clang with R3's plugin where device code is
// compiled, and clang itself everywhere else. What the program is called by decides which of them it is.
//
// The wrapper becomes the compiler (exec): exit status, signals, streams and inherited descriptors are the
// compiler's own. Whatever is wrong with R3 costs one warning, and the command runs as the user typed it;
// R3_STRICT=1 makes it an error. The wrapper's own errors exit with WrapperError, which clang never returns.
#include "capture.h"
#include "command_line.h"
#include "compatibility.h"
#include "compiler.h"
#include "device_link.h"
#include "explain.h"
#include "hipcc.h"
#include "launcher.h"
#include "nvcc.h"
#include "process.h"
#include "profile.h"
#include "programs.h"
#include "ptxas.h"
#include "rocm_tree.h"

namespace r3 {
namespace {

bool isCalled(const std::string &Program, const std::string &Name) {
  return baseName(Program).find(Name) != std::string::npos;
}

[[noreturn]] void runClang(const std::string &Program, const std::vector<std::string> &User) {
  Driver Mode = driverFor(Program);
  Result<std::string> Compiler = findCompiler(Mode);
  if (!Compiler)
    fail(Compiler.problem());
  if (std::vector<std::string> Explained = withoutExplain(User); !Explained.empty())
    explain(*Compiler, Mode, withRocm(withCompatibility(Explained)));
  std::vector<std::string> Asked = withRocm(withCompatibility(User));
  std::vector<std::string> Arguments = captureFlags(*Compiler, Mode, Asked);
  // R3's before the user's own: those win, and may end in "-- FILE".
  Arguments.insert(Arguments.end(), Asked.begin(), Asked.end());
  become(*Compiler, Arguments);
}

} // namespace
} // namespace r3

int main(int Count, char **Values) {
  if (Count < 1)
    return r3::WrapperError;
  std::string Program = Values[0];
  std::vector<std::string> User = r3::withProfile(r3::withOwnOptionsInSight({Values + 1, Values + Count}));
  if (r3::isCalled(Program, r3::KeepRegistrationProgram))
    return r3::keepRegistration(User);
  if (r3::isCalled(Program, r3::PtxasProgram))
    r3::runPtxas(User);
  r3::guardAgainstRecursion();
  if (r3::isCalled(Program, "nvcc"))
    r3::runNvcc(User);
  if (r3::isCalled(Program, "hipcc"))
    r3::runHipcc(User);
  if (r3::isCalled(Program, "r3-launch"))
    r3::launch(User);
  r3::runClang(Program, User);
}
