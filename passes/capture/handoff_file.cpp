// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "capture/handoff_file.h"

#include "capture/driver_process.h"

#include "llvm/ADT/StringRef.h"

#include <climits>
#include <cstdlib>
#include <sys/stat.h>

using namespace llvm;

namespace r3 {
namespace {

/// A stale variable may name a descriptor that is something else by now.
bool isHandoff(int Fd) {
  char Target[PATH_MAX];
  std::string Link = "/proc/self/fd/" + std::to_string(Fd);
  ssize_t Size = readlink(Link.c_str(), Target, sizeof Target);
  return Size > 0 && StringRef(Target, Size).starts_with(std::string("/memfd:") + handoff::FileName);
}

std::string readAll(int Fd) {
  struct stat Status;
  if (fstat(Fd, &Status) != 0)
    return {};
  std::string Bytes(Status.st_size, '\0');
  size_t Done = 0;
  while (Done < Bytes.size()) {
    ssize_t Count = pread(Fd, Bytes.data() + Done, Bytes.size() - Done, Done);
    if (Count < 0 && errno == EINTR)
      continue;
    if (Count <= 0)
      break;
    Done += Count;
  }
  Bytes.resize(Done);
  return Bytes;
}

} // namespace

std::optional<HandoffFile> HandoffFile::inherited() {
  const char *Text = std::getenv(handoff::FdVariable);
  int Fd;
  if (!Text || StringRef(Text).getAsInteger(10, Fd) || !isHandoff(Fd))
    return std::nullopt;
  return HandoffFile(Fd);
}

std::optional<HandoffFile> HandoffFile::forDevice() {
  if (std::optional<HandoffFile> Inherited = inherited())
    return Inherited;
  std::optional<DriverProcess> Driver = DriverProcess::current();
  int Fd = Driver ? Driver->makeTemporaryFile() : -1;
  if (Fd < 0)
    return std::nullopt;
  struct stat Status;
  if (fstat(Fd, &Status) == 0 && Status.st_size == 0) {
    std::vector<std::string> Fields = Driver->command();
    Fields.insert(Fields.begin(), Driver->directory());
    handoff::append(Fd, {handoff::RecordKind::Command, std::move(Fields)});
  }
  return HandoffFile(Fd);
}

std::optional<HandoffFile> HandoffFile::forHost() {
  if (std::optional<HandoffFile> Inherited = inherited())
    return Inherited;
  std::optional<DriverProcess> Driver = DriverProcess::current();
  int Fd = Driver ? Driver->takeTemporaryFile() : -1;
  return Fd < 0 ? std::nullopt : std::optional<HandoffFile>(HandoffFile(Fd));
}

std::vector<handoff::Record> HandoffFile::records() const { return handoff::decode(readAll(Fd)); }

UserCommand HandoffFile::userCommand() const {
  for (handoff::Record &R : records())
    if (R.kind == handoff::RecordKind::Command && !R.fields.empty())
      return {R.fields.front(), {R.fields.begin() + 1, R.fields.end()}};
  return {};
}

bool HandoffFile::add(const CapturedModule &Module) const {
  return handoff::append(
      Fd, {handoff::RecordKind::Module, {Module.unit, Module.architecture, Module.json, Module.bitcode}});
}

std::vector<CapturedModule> HandoffFile::take(const std::string &Unit) const {
  std::vector<CapturedModule> Modules;
  for (handoff::Record &R : records()) {
    if (R.kind == handoff::RecordKind::Command || R.kind == handoff::RecordKind::Said || R.fields.empty() ||
        R.fields.front() != Unit)
      continue;
    if (R.kind == handoff::RecordKind::Claim) // two sources of one command may look the same
      Modules.clear();
    else if (R.kind == handoff::RecordKind::Module && R.fields.size() == 4)
      Modules.push_back({R.fields[0], R.fields[1], R.fields[2], R.fields[3]});
  }
  if (!Modules.empty())
    handoff::append(Fd, {handoff::RecordKind::Claim, {Unit}});
  return Modules;
}

bool HandoffFile::sayFirst(const std::string &Sentence) const {
  for (const handoff::Record &R : records())
    if (R.kind == handoff::RecordKind::Said && R.fields.size() == 1 && R.fields.front() == Sentence)
      return false;
  handoff::append(Fd, {handoff::RecordKind::Said, {Sentence}});
  return true;
}

} // namespace r3
