// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once

template <class T> __device__ T square(T x) { return x * x; }
