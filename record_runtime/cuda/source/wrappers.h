// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

#include "entry_points.h"
#include "session.h"

#define R3_EXPORT extern "C" __attribute__((visibility("default")))

namespace r3::cuda {

/// The stream as an entry point means it: stream 0 is another one for per-thread default streams.
template <Entry E> CUstream meant(CUstream stream) {
  return Signature<E>::PerThread && !stream ? CU_STREAM_PER_THREAD : stream;
}

/// A call that a snapshot holds back, and that is otherwise none of our business.
template <Entry E, typename... Arguments> CUresult callGated(Arguments... arguments) {
  Call call;
  if (!call.session)
    return callReal<E>(arguments...);
  auto pass = call.session->pass();
  return callReal<E>(arguments...);
}

} // namespace r3::cuda
