// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "r3core/settings.h"
#include "r3core/log.h"

#include <cerrno>
#include <cstdlib>

using namespace r3;

namespace {

std::string text(const char *variable) {
  const char *value = std::getenv(variable);
  return value ? value : "";
}

void number(const char *variable, std::uint64_t &value) {
  std::string written = text(variable);
  if (written.empty())
    return;
  char *end = nullptr;
  errno = 0;
  std::uint64_t parsed = std::strtoull(written.c_str(), &end, 0);
  if (errno || *end || written[0] == '-')
    message("%s is '%s', which is not a number; %llu is used", variable, written.c_str(),
            static_cast<unsigned long long>(value));
  else
    value = parsed;
}

/// 0 is no, any other value yes; without one, what `value` was.
void onOrOff(const char *variable, bool &value) {
  std::string written = text(variable);
  if (!written.empty())
    value = written != "0";
}

} // namespace

Settings r3::settingsFromEnvironment() {
  Settings settings;
  settings.directory = text("R3_RECORD_DIR");
  settings.kernels = text("R3_RECORD_KERNELS");
  number("R3_RECORD_LAUNCHES", settings.launches);
  number("R3_RECORD_HELD_OUT", settings.heldOut);
  number("R3_RECORD_SKIP", settings.skip);
  number("R3_RECORD_EVERY", settings.every);
  settings.ranks = text("R3_RECORD_RANKS");
  settings.plan = text("R3_RECORD_PLAN");
  onOrOff("R3_RECORD_TIMES_ONLY", settings.timesOnly);
  onOrOff("R3_RECORD_FOREIGN", settings.foreign);
  onOrOff("R3_RECORD_DEVICE_HASH", settings.deviceHash);
  number("R3_RECORD_QUOTA_BYTES", settings.quotaBytes);
  number("R3_RECORD_DEADLINE_MS", settings.deadlineMilliseconds);
  number("R3_RECORD_ARENA_BASE", settings.arenaBase);
  number("R3_RECORD_ARENA_SIZE", settings.arenaSize);
  std::string snapshot = text("R3_RECORD_SNAPSHOT");
  if (snapshot == "all")
    settings.snapshot = SnapshotKind::All;
  else if (!snapshot.empty() && snapshot != "reachable")
    message("R3_RECORD_SNAPSHOT is '%s', neither 'reachable' nor 'all'; 'reachable' is used",
            snapshot.c_str());
  return settings;
}
