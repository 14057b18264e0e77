// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// HIP's streams and events.
#include "forward.h"

using Callback = void (*)(void *, int, void *);
using HostFunction = void (*)(void *);

R3CPU_FORWARD(hipStreamCreate, cudaStreamCreate, (void **stream), (stream))
R3CPU_FORWARD(hipStreamCreateWithFlags, cudaStreamCreateWithFlags, (void **stream, unsigned flags),
              (stream, flags))
R3CPU_FORWARD(hipStreamCreateWithPriority, cudaStreamCreateWithPriority,
              (void **stream, unsigned flags, int priority), (stream, flags, priority))
R3CPU_FORWARD(hipStreamDestroy, cudaStreamDestroy, (void *stream), (stream))
R3CPU_FORWARD(hipStreamSynchronize, cudaStreamSynchronize, (void *stream), (stream))
R3CPU_FORWARD(hipStreamQuery, cudaStreamQuery, (void *stream), (stream))
R3CPU_FORWARD(hipStreamWaitEvent, cudaStreamWaitEvent, (void *stream, void *event, unsigned flags),
              (stream, event, flags))
R3CPU_FORWARD(hipStreamGetFlags, cudaStreamGetFlags, (void *stream, unsigned *flags), (stream, flags))
R3CPU_FORWARD(hipStreamGetPriority, cudaStreamGetPriority, (void *stream, int *priority), (stream, priority))
R3CPU_FORWARD(hipStreamIsCapturing, cudaStreamIsCapturing, (void *stream, int *status), (stream, status))
R3CPU_FORWARD(hipStreamAddCallback, cudaStreamAddCallback,
              (void *stream, Callback callback, void *data, unsigned flags), (stream, callback, data, flags))
R3CPU_FORWARD(hipLaunchHostFunc, cudaLaunchHostFunc, (void *stream, HostFunction function, void *data),
              (stream, function, data))
R3CPU_FORWARD(hipEventCreate, cudaEventCreate, (void **event), (event))
R3CPU_FORWARD(hipEventCreateWithFlags, cudaEventCreateWithFlags, (void **event, unsigned flags),
              (event, flags))
R3CPU_FORWARD(hipEventDestroy, cudaEventDestroy, (void *event), (event))
R3CPU_FORWARD(hipEventRecord, cudaEventRecord, (void *event, void *stream), (event, stream))
R3CPU_FORWARD(hipEventSynchronize, cudaEventSynchronize, (void *event), (event))
R3CPU_FORWARD(hipEventQuery, cudaEventQuery, (void *event), (event))
R3CPU_FORWARD(hipEventElapsedTime, cudaEventElapsedTime, (float *milliseconds, void *start, void *end),
              (milliseconds, start, end))
