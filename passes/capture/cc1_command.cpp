// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/cc1_command.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/StringSaver.h"

#include <unistd.h>

using namespace llvm;

namespace r3 {
namespace {

std::vector<std::string> splitAtNul(StringRef Text) {
  std::vector<std::string> Parts;
  while (!Text.empty()) {
    auto [Part, Rest] = Text.split('\0');
    Parts.push_back(Part.str());
    Text = Rest;
  }
  return Parts;
}

/// The driver hands a long cc1 command over in a response file.
std::vector<std::string> expanded(const std::vector<std::string> &Arguments) {
  SmallVector<const char *, 128> Raw;
  for (const std::string &Argument : Arguments)
    Raw.push_back(Argument.c_str());
  BumpPtrAllocator Storage;
  StringSaver Saver(Storage);
  cl::ExpandResponseFiles(Saver, cl::TokenizeGNUCommandLine, Raw);
  return std::vector<std::string>(Raw.begin(), Raw.end());
}

} // namespace

Cc1Command parseCc1Command(const std::vector<std::string> &Arguments) {
  Cc1Command Command;
  for (size_t Index = 0; Index < Arguments.size(); ++Index) {
    StringRef Argument = Arguments[Index];
    bool HasNext = Index + 1 < Arguments.size();
    if (Argument.consume_front("-cuid="))
      Command.unitId = Argument.str();
    else if (Argument.consume_front("-debug-info-kind="))
      Command.debugInfo = Argument.str();
    else if (Argument == "-fgpu-rdc")
      Command.relocatableDeviceCode = true;
    else if (Argument == "-main-file-name" && HasNext)
      Command.mainFile = Arguments[++Index];
    else if (Argument == "-mllvm" && HasNext)
      Command.llvmOptions.push_back(Arguments[++Index]);
    else if (Argument == "-mlink-builtin-bitcode" && HasNext)
      Command.builtinBitcode.push_back(Arguments[++Index]);
  }
  if (!Arguments.empty())
    Command.input = Arguments.back(); // the driver always puts it last
  return Command;
}

std::vector<std::string> commandOf(int Process) {
  std::string Path = "/proc/" + std::to_string(Process) + "/cmdline";
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFileAsStream(Path);
  return Text ? expanded(splitAtNul((*Text)->getBuffer())) : std::vector<std::string>();
}

Cc1Command currentCc1Command() { return parseCc1Command(commandOf(getpid())); }

} // namespace r3
