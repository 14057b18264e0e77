// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Streams and events. Work is done when its call returns: a stream is a name, an event a time.
#include "runtime.h"

#include <chrono>

using namespace r3::cpu::cudart;

namespace {

using Clock = std::chrono::steady_clock;

struct Stream {
  unsigned flags;
  int priority;
};

struct Event {
  Clock::time_point time;
  bool recorded;
};

Error createStream(void **stream, unsigned flags, int priority) {
  if (!stream)
    return InvalidValue;
  *stream = new Stream{flags, priority};
  return Success;
}

// The default streams are null, 1 and 2.
Stream *ownStream(void *stream) {
  return reinterpret_cast<uintptr_t>(stream) <= 2 ? nullptr : static_cast<Stream *>(stream);
}

} // namespace

R3CPU_EXPORT int cudaStreamCreate(void **stream) { return remember(createStream(stream, 0, 0)); }

R3CPU_EXPORT int cudaStreamCreateWithFlags(void **stream, unsigned flags) {
  return remember(createStream(stream, flags, 0));
}

R3CPU_EXPORT int cudaStreamCreateWithPriority(void **stream, unsigned flags, int priority) {
  return remember(createStream(stream, flags, priority));
}

R3CPU_EXPORT int cudaStreamDestroy(void *stream) {
  delete ownStream(stream);
  return remember(Success);
}

R3CPU_EXPORT int cudaStreamSynchronize(void *) { return remember(Success); }
R3CPU_PER_THREAD(cudaStreamSynchronize, _ptsz)

R3CPU_EXPORT int cudaStreamQuery(void *) { return remember(Success); }
R3CPU_PER_THREAD(cudaStreamQuery, _ptsz)

R3CPU_EXPORT int cudaStreamWaitEvent(void *, void *, unsigned) { return remember(Success); }
R3CPU_PER_THREAD(cudaStreamWaitEvent, _ptsz)

R3CPU_EXPORT int cudaStreamGetFlags(void *stream, unsigned *flags) {
  Stream *own = ownStream(stream);
  *flags = own ? own->flags : 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaStreamGetPriority(void *stream, int *priority) {
  Stream *own = ownStream(stream);
  *priority = own ? own->priority : 0;
  return remember(Success);
}

R3CPU_EXPORT int cudaStreamIsCapturing(void *, int *status) {
  *status = 0;
  return remember(Success);
}
R3CPU_PER_THREAD(cudaStreamIsCapturing, _ptsz)

R3CPU_EXPORT int cudaStreamAddCallback(void *stream, void (*callback)(void *, int, void *), void *data,
                                       unsigned) {
  callback(stream, Success, data);
  return remember(Success);
}
R3CPU_PER_THREAD(cudaStreamAddCallback, _ptsz)

R3CPU_EXPORT int cudaLaunchHostFunc(void *, void (*function)(void *), void *data) {
  function(data);
  return remember(Success);
}
R3CPU_PER_THREAD(cudaLaunchHostFunc, _ptsz)

R3CPU_EXPORT int cudaEventCreateWithFlags(void **event, unsigned) {
  *event = new Event{{}, false};
  return remember(Success);
}

R3CPU_EXPORT int cudaEventCreate(void **event) { return cudaEventCreateWithFlags(event, 0); }

R3CPU_EXPORT int cudaEventDestroy(void *event) {
  delete static_cast<Event *>(event);
  return remember(Success);
}

R3CPU_EXPORT int cudaEventRecord(void *event, void *) {
  *static_cast<Event *>(event) = {Clock::now(), true};
  return remember(Success);
}
R3CPU_PER_THREAD(cudaEventRecord, _ptsz)

R3CPU_EXPORT int cudaEventRecordWithFlags(void *event, void *stream, unsigned) {
  return cudaEventRecord(event, stream);
}
R3CPU_PER_THREAD(cudaEventRecordWithFlags, _ptsz)

R3CPU_EXPORT int cudaEventSynchronize(void *) { return remember(Success); }
R3CPU_EXPORT int cudaEventQuery(void *) { return remember(Success); }

R3CPU_EXPORT int cudaEventElapsedTime(float *milliseconds, void *start, void *end) {
  auto *first = static_cast<Event *>(start);
  auto *last = static_cast<Event *>(end);
  if (!first->recorded || !last->recorded)
    return remember(InvalidResourceHandle);
  *milliseconds = std::chrono::duration<float, std::milli>(last->time - first->time).count();
  return remember(Success);
}
// cudaEventElapsedTime is a macro for this name in CUDA 12.8 and later.
extern "C"
    __attribute__((visibility("default"),
                   alias("cudaEventElapsedTime"))) decltype(cudaEventElapsedTime) cudaEventElapsedTime_v2;
