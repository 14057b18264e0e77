// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "warp.h"

#include <algorithm>

namespace r3::cpu {

namespace {

constexpr uint64_t kPredicate = uint64_t(1) << 32;

template <typename Visit> void forEachLane(uint32_t members, Visit visit) {
  for (uint32_t lane = 0; lane < R3CPU_WARP_SIZE; ++lane)
    if (members >> lane & 1)
      visit(lane);
}

struct Source {
  int lane;
  bool in_range;
};

// PTX ISA, shfl.sync: `clamp` packs the segment mask (bits 8 to 12) and the clamp value (bits 0 to 4).
Source shuffleSource(const Request &request, uint32_t lane) {
  uint32_t b = request.lane & 31;
  uint32_t clamp = request.clamp & 31;
  uint32_t segment = request.clamp >> 8 & 31;
  int highest = static_cast<int>((lane & segment) | (clamp & ~segment));
  int lowest = static_cast<int>(lane & segment);
  int own = static_cast<int>(lane);
  switch (request.mode) {
  case R3CPU_SHUFFLE_UP: {
    int source = own - static_cast<int>(b);
    return source >= highest ? Source{source, true} : Source{own, false};
  }
  case R3CPU_SHUFFLE_DOWN: {
    int source = own + static_cast<int>(b);
    return source <= highest ? Source{source, true} : Source{own, false};
  }
  case R3CPU_SHUFFLE_XOR: {
    int source = own ^ static_cast<int>(b);
    return source <= highest ? Source{source, true} : Source{own, false};
  }
  default: {
    int source = lowest | static_cast<int>(b & ~segment);
    return source <= highest ? Source{source, true} : Source{own, false};
  }
  }
}

// A source lane that takes no part gives an undefined value on a GPU; here the own one.
void answerShuffles(Request *const requests[], uint32_t members) {
  forEachLane(members, [&](uint32_t lane) {
    Source source = shuffleSource(*requests[lane], lane);
    bool present = members >> source.lane & 1;
    uint64_t value = requests[present ? static_cast<uint32_t>(source.lane) : lane]->value;
    requests[lane]->answer = (value & 0xffffffffu) | (source.in_range ? kPredicate : 0);
  });
}

void answerVotes(Request *const requests[], uint32_t members) {
  uint32_t ballot = 0;
  uint32_t mode = R3CPU_VOTE_BALLOT;
  forEachLane(members, [&](uint32_t lane) {
    mode = requests[lane]->mode;
    ballot |= static_cast<uint32_t>(requests[lane]->value != 0) << lane;
  });
  uint64_t answer = ballot;
  if (mode == R3CPU_VOTE_ALL)
    answer = ballot == members;
  else if (mode == R3CPU_VOTE_ANY)
    answer = ballot != 0;
  else if (mode == R3CPU_VOTE_UNIFORM)
    answer = ballot == members || ballot == 0;
  forEachLane(members, [&](uint32_t lane) { requests[lane]->answer = answer; });
}

void answerMatchAny(Request *const requests[], uint32_t members) {
  forEachLane(members, [&](uint32_t lane) {
    uint32_t equal = 0;
    forEachLane(members, [&](uint32_t other) {
      equal |= static_cast<uint32_t>(requests[other]->value == requests[lane]->value) << other;
    });
    requests[lane]->answer = equal;
  });
}

void answerMatchAll(Request *const requests[], uint32_t members) {
  uint64_t first = requests[__builtin_ctz(members)]->value;
  bool equal = true;
  forEachLane(members, [&](uint32_t lane) { equal &= requests[lane]->value == first; });
  forEachLane(members, [&](uint32_t lane) { requests[lane]->answer = equal ? members | kPredicate : 0; });
}

uint32_t combine(uint32_t reduction, uint32_t a, uint32_t b) {
  switch (reduction) {
  case R3CPU_WARP_ADD:
    return a + b;
  case R3CPU_WARP_SMIN:
    return static_cast<uint32_t>(std::min(static_cast<int32_t>(a), static_cast<int32_t>(b)));
  case R3CPU_WARP_SMAX:
    return static_cast<uint32_t>(std::max(static_cast<int32_t>(a), static_cast<int32_t>(b)));
  case R3CPU_WARP_UMIN:
    return std::min(a, b);
  case R3CPU_WARP_UMAX:
    return std::max(a, b);
  case R3CPU_WARP_AND:
    return a & b;
  case R3CPU_WARP_OR:
    return a | b;
  default:
    return a ^ b;
  }
}

void answerReductions(Request *const requests[], uint32_t members) {
  uint32_t leader = static_cast<uint32_t>(__builtin_ctz(members));
  auto result = static_cast<uint32_t>(requests[leader]->value);
  forEachLane(members & ~(1u << leader), [&](uint32_t lane) {
    result = combine(requests[lane]->mode, result, static_cast<uint32_t>(requests[lane]->value));
  });
  forEachLane(members, [&](uint32_t lane) { requests[lane]->answer = result; });
}

} // namespace

void answerWarpRequests(Request *const requests[R3CPU_WARP_SIZE], uint32_t members) {
  switch (requests[__builtin_ctz(members)]->operation) {
  case WarpOperation::Sync:
    return;
  case WarpOperation::Shuffle:
    return answerShuffles(requests, members);
  case WarpOperation::Vote:
    return answerVotes(requests, members);
  case WarpOperation::MatchAny:
    return answerMatchAny(requests, members);
  case WarpOperation::MatchAll:
    return answerMatchAll(requests, members);
  case WarpOperation::Reduce:
    return answerReductions(requests, members);
  }
}

namespace {

uint64_t ballotOf(WaveRequest *const requests[kLargestWave]) {
  uint64_t ballot = 0;
  for (uint32_t lane = 0; lane < kLargestWave; ++lane)
    if (requests[lane] && requests[lane]->value)
      ballot |= uint64_t(1) << lane;
  return ballot;
}

uint64_t firstOf(WaveRequest *const requests[kLargestWave]) {
  return (*std::find_if(requests, requests + kLargestWave, [](WaveRequest *request) { return request; }))
      ->value;
}

uint64_t gathered(WaveRequest *const requests[kLargestWave], const WaveRequest &own) {
  const WaveRequest *source = own.lane < kLargestWave ? requests[own.lane] : nullptr;
  if (source)
    return source->value;
  return own.operation == R3CPU_WAVE_FETCH ? own.fallback : 0;
}

uint64_t scattered(WaveRequest *const requests[kLargestWave], uint32_t target) {
  uint64_t value = 0;
  for (uint32_t lane = 0; lane < kLargestWave; ++lane)
    if (requests[lane] && requests[lane]->lane == target)
      value = requests[lane]->value;
  return value;
}

} // namespace

void answerWaveRequests(WaveRequest *const requests[kLargestWave]) {
  for (uint32_t lane = 0; lane < kLargestWave; ++lane) {
    if (!requests[lane])
      continue;
    WaveRequest &own = *requests[lane];
    switch (own.operation) {
    case R3CPU_WAVE_BALLOT:
      own.answer = ballotOf(requests);
      break;
    case R3CPU_WAVE_FIRST:
      own.answer = firstOf(requests);
      break;
    case R3CPU_WAVE_GATHER:
    case R3CPU_WAVE_FETCH:
      own.answer = gathered(requests, own);
      break;
    case R3CPU_WAVE_SCATTER:
      own.answer = scattered(requests, lane);
      break;
    default:
      own.answer = 0;
    }
  }
}

} // namespace r3::cpu
