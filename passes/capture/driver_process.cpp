// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/driver_process.h"

#include "capture/cc1_command.h"
#include "common/handoff.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace r3 {
namespace {

constexpr char Separator = '-'; ///< between the parts of a file's name

std::string procFile(int Process, StringRef Name) { return ("/proc/" + Twine(Process) + "/" + Name).str(); }

/// "PROCESS-START" of a running process; empty without one.
std::string identity(int Process) {
  ErrorOr<std::unique_ptr<MemoryBuffer>> Text = MemoryBuffer::getFileAsStream(procFile(Process, "stat"));
  if (!Text)
    return {};
  // The name, between parentheses, may hold anything. Field 22 is the start, field 3 the first behind it.
  StringRef Rest = (*Text)->getBuffer().rsplit(") ").second;
  SmallVector<StringRef> Fields;
  Rest.split(Fields, ' ');
  constexpr size_t StartField = 22 - 3;
  if (Fields.size() <= StartField)
    return {};
  return std::to_string(Process) + Separator + Fields[StartField].str();
}

std::string namePrefix() {
  return std::string(handoff::FileName) + Separator + std::to_string(geteuid()) + Separator;
}

std::string temporaryDirectory() {
  SmallString<128> Directory;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, Directory);
  return std::string(Directory);
}

/// A killed compilation, or one of the device side alone, leaves a file that nobody takes.
void removeAbandoned(const std::string &Directory) {
  std::error_code Failed;
  for (sys::fs::directory_iterator File(Directory, Failed), End; File != End && !Failed;
       File.increment(Failed)) {
    StringRef Name = sys::path::filename(File->path());
    int Process;
    if (!Name.consume_front(namePrefix()) || Name.split(Separator).first.getAsInteger(10, Process))
      continue;
    std::string Running = identity(Process);
    if (Running.empty() || !Name.starts_with(Running + Separator))
      ::unlink(File->path().c_str());
  }
}

/// Whether it is a file of this user: the folder is everybody's.
bool isOurs(int Fd) {
  struct stat Status;
  return fstat(Fd, &Status) == 0 && S_ISREG(Status.st_mode) && Status.st_uid == geteuid();
}

int openOurs(const std::string &Path, int Flags) {
  int Fd = ::open(Path.c_str(), O_RDWR | O_APPEND | O_NOFOLLOW | O_CLOEXEC | Flags, 0600);
  if (Fd >= 0 && !isOurs(Fd)) {
    ::close(Fd);
    return -1;
  }
  return Fd;
}

} // namespace

std::optional<DriverProcess> DriverProcess::current() {
  int Process = getppid();
  std::string Identity = identity(Process);
  if (Identity.empty() || currentCc1Command().mainFile.empty())
    return std::nullopt;
  return DriverProcess(Process, std::move(Identity));
}

std::vector<std::string> DriverProcess::command() const {
  std::vector<std::string> Command = commandOf(Process);
  if (!Command.empty()) // as the wrapper says it: the compiler's plain name
    Command.front() = StringRef(Command.front()).contains("++") ? "clang++" : "clang";
  return Command;
}

std::string DriverProcess::directory() const {
  SmallString<256> Directory;
  sys::fs::current_path(Directory);
  return std::string(Directory);
}

std::string DriverProcess::temporaryFile() const {
  std::string Unit = utohexstr(xxh3_64bits(currentCc1Command().unit()), /*LowerCase=*/true);
  return temporaryDirectory() + '/' + namePrefix() + Identity + Separator + Unit;
}

int DriverProcess::makeTemporaryFile() const {
  std::string Path = temporaryFile();
  if (!sys::fs::exists(Path))
    removeAbandoned(temporaryDirectory());
  return openOurs(Path, O_CREAT);
}

int DriverProcess::takeTemporaryFile() const {
  std::string Path = temporaryFile();
  int Fd = openOurs(Path, 0);
  if (Fd >= 0)
    ::unlink(Path.c_str());
  return Fd;
}

} // namespace r3
