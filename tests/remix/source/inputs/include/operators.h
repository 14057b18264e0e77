// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#pragma once
#include "deep/square.h"

struct Scale {
  double factor;
  __device__ double operator()(double x) const { return factor * x; }
};

static inline __attribute__((noinline)) __device__ double operator+(Scale scale, double x) {
  return scale(x) + scale.factor;
}
