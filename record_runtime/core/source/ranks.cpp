// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.h"
#include "pack.h"
#include "r3core/log.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <initializer_list>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

using namespace r3;

namespace {

struct Range {
  long first, last;
};

/// Reads digits at `at` and moves it behind them.
std::optional<long> number(const char *&at) {
  if (*at < '0' || *at > '9')
    return std::nullopt;
  char *end = nullptr;
  long value = std::strtol(at, &end, 10);
  at = end;
  return value;
}

std::optional<std::vector<Range>> parse(const std::string &list) {
  std::vector<Range> ranges;
  for (const char *at = list.c_str();; ++at) {
    std::optional<long> first = number(at), last = first;
    if (first && *at == '-')
      last = number(++at);
    if (!first || !last || *last < *first)
      return std::nullopt;
    ranges.push_back({*first, *last});
    if (!*at)
      return ranges;
    if (*at != ',')
      return std::nullopt;
  }
}

/// Of the first variable that holds a number.
std::optional<long> firstNumber(std::initializer_list<const char *> variables) {
  for (const char *variable : variables)
    if (const char *value = std::getenv(variable)) {
      char *end = nullptr;
      long parsed = std::strtol(value, &end, 10);
      if (end != value && !*end)
        return parsed;
    }
  return std::nullopt;
}

/// Launches of a shape after which any rank may claim it: the one that should have may never launch it.
constexpr std::uint64_t LeftToOthers = 16;

Key claimKey(const KernelDescription &kernel, const Geometry &geometry) {
  std::string text = kernel.module + ":" + kernel.name;
  for (std::uint32_t part : {geometry.grid.x, geometry.grid.y, geometry.grid.z, geometry.block.x,
                             geometry.block.y, geometry.block.z, geometry.shared})
    text += "," + std::to_string(part);
  return keyOf(text.data(), text.size());
}

/// Whether this call made the file. One that can't be made at all counts as made: better twice than never.
bool claim(const std::string &path) {
  int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errno != EEXIST;
  close(descriptor);
  return true;
}

} // namespace

std::optional<long> r3::processRank() {
  return firstNumber(
      {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"});
}

std::optional<long> r3::rankCount() {
  return firstNumber({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE", "SLURM_NTASKS"});
}

const char *const r3::SpreadOverRanks = "spread";

bool r3::isAmong(const std::string &list, std::optional<long> rank) {
  if (list.empty() || list == SpreadOverRanks)
    return true;
  std::optional<std::vector<Range>> ranges = parse(list);
  if (!ranges)
    message("R3_RECORD_RANKS is '%s', which is not a list like 0,4-7; every rank is recorded", list.c_str());
  if (!ranges || !rank)
    return true;
  for (const Range &range : *ranges)
    if (range.first <= *rank && *rank <= range.last)
      return true;
  return false;
}

KernelClaims::KernelClaims(const std::string &recording, const std::string &ranks)
    : directory(recording + "/claims"), rank(processRank()), count(rankCount()),
      spreads(ranks == SpreadOverRanks && rank && count && *rank >= 0 && *count > 1) {
  if (spreads)
    mkdir(directory.c_str(), 0777);
}

std::optional<bool> KernelClaims::ask(const KernelDescription &kernel, const Geometry &geometry,
                                      std::uint64_t launches) {
  if (!spreads)
    return true;
  Key key = claimKey(kernel, geometry);
  std::uint64_t number;
  std::memcpy(&number, key.bytes.data(), sizeof(number));
  if (long(number % std::uint64_t(*count)) != *rank && launches <= LeftToOthers)
    return std::nullopt;
  return claim(directory + "/" + key.hex());
}
