// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "nvcc_trace.h"

#include "programs.h"
#include "text.h"

namespace r3 {
namespace {

std::string line(const std::string &Text) { return "#$ " + Text + '\n'; }

std::string quoted(const std::string &Text) { return '"' + Text + '"'; }

/// The libraries at the end of a link, which follow --offload-link.
std::string libraries(const ClangCommand &Command) {
  std::string Text;
  bool IsLibrary = false;
  for (const std::string &Word : Command.arguments) {
    if (IsLibrary && !startsWith(Word, "-L"))
      Text += ' ' + Word;
    IsLibrary = IsLibrary || Word == "--offload-link";
  }
  return Text;
}

} // namespace

std::string nvccTrace(const std::string &Compiler, const ClangCommand &Command) {
  const CudaTree &Cuda = Command.cuda;
  std::string Folder = quoted("-L" + Cuda.libraries());
  std::string Trace = line("TOP=" + Cuda.root) + line("NVVMIR_LIBRARY_DIR=" + Cuda.root + "/nvvm/libdevice") +
                      line("PATH=" + Cuda.root + "/bin:" + environment("PATH")) +
                      line("INCLUDES=" + quoted("-I" + Cuda.include())) + line("LIBRARIES=" + Folder);
  for (const std::string &Word : Command.arguments)
    if (constexpr std::string_view Gpu = "--offload-arch=sm_"; startsWith(Word, Gpu))
      Trace += line("cicc -arch compute_" + Word.substr(Gpu.size()));
  if (Command.phase == NvccPhase::Program)
    Trace += line(quoted(Compiler) + " -o " + quoted(Command.output.empty() ? "a.out" : Command.output) +
                  ' ' + Folder + libraries(Command));
  return Trace;
}

} // namespace r3
