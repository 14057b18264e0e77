// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef R3CPU_WARP_H
#define R3CPU_WARP_H

#include "block_scheduler.h"

namespace r3::cpu {

/// Lanes of the largest wave.
constexpr uint32_t kLargestWave = 64;

/// Answers one wave operation: `requests` of the lanes that take part, null for the others.
void answerWaveRequests(WaveRequest *const requests[kLargestWave]);

/// Answers one warp operation: `requests[lane]` for each lane of `members`, all of one operation and mode.
void answerWarpRequests(Request *const requests[R3CPU_WARP_SIZE], uint32_t members);

} // namespace r3::cpu

#endif
