// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "ranks.h"
#include "r3core/log.h"

#include <cstdlib>
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

} // namespace

std::optional<long> r3::processRank() {
  for (const char *variable :
       {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MV2_COMM_WORLD_RANK", "SLURM_PROCID"})
    if (const char *value = std::getenv(variable)) {
      char *end = nullptr;
      long parsed = std::strtol(value, &end, 10);
      if (end != value && !*end)
        return parsed;
    }
  return std::nullopt;
}

bool r3::isAmong(const std::string &list, std::optional<long> rank) {
  if (list.empty())
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
