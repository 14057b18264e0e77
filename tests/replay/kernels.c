/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A kernel for the cpu device, written as the lowering writes them: scale(double *y, const double *x, int n)
 * sets y[i] = factor * x[i] and counts its launches in `calls`. VARIANT says how it goes wrong.
 */
#include "module_abi.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

#define RIGHT 0
#define WRONG 1
#define HANG 2
#define WILD 3
#define STRAY 4
#define ABORT 5
#define ROUNDED 6
#define RANDOM 7
#define ACCUMULATE 8
#define WRITES_INPUT 9
#define SLOW 10
#define REMEMBERS 11
#define FUSSY 12
#define FUSSY_HANG 13
#define PEEKS 14
#define STRAY_IN_FRONT 15
/* On the inputs of cpu_kernels.cancelling: y[i] = factor * (x[i + 1]^3 - x[i]^3), of which little is left. */
#define CANCELS 16
#define CANCELS_FACTORED 17
#define CANCELS_IN_FLOAT 18
#define CANCELS_SHORT_OF_A_TERM 19
#define CANCELS_SKIPPING_SMALL 20
#define CANCELS_TO_A_CONSTANT 21
#define CANCELS_STALE 22
#define CANCELS_FUSSY 23
#define CANCELS_FUSSY_HANG 24

typedef struct {
  double *y;
  const double *x;
  int n;
} arguments_t;

static double factor[2] = {0.0, 0.0};
static int calls;
static unsigned seed;

static double cancel(const arguments_t *a, int i) {
  const double here = a->x[i], next = a->x[i + 1 < a->n ? i + 1 : 0];
  const double plain = factor[1] * (next * next * next - here * here * here);
  switch (VARIANT) {
  case CANCELS_FACTORED:
    return factor[1] * ((next - here) * (next * next + next * here + here * here));
  case CANCELS_IN_FLOAT:
    return factor[1] * ((float)(next * next * next) - (float)(here * here * here));
  case CANCELS_SHORT_OF_A_TERM:
    return factor[1] * ((next - here) * (2 * next * next + next * here));
  case CANCELS_SKIPPING_SMALL:
    return fabs(plain) < 1e-8 ? 0.0 : plain;
  case CANCELS_TO_A_CONSTANT:
    return 1e-7;
  case CANCELS_STALE:
    return i == a->n / 2 ? factor[1] * (next * next * next - 1.0) : plain;
  case CANCELS_FUSSY:
    if (a->x[0] != 1.0 + 1e-4)
      abort();
    break;
  case CANCELS_FUSSY_HANG:
    for (volatile int forever = a->x[0] != 1.0 + 1e-4; forever;)
      ;
    break;
  }
  return plain;
}

static void store(const arguments_t *a, int i) {
  double value = VARIANT >= CANCELS ? cancel(a, i) : factor[1] * a->x[i];
  switch (VARIANT) {
  case WRONG:
    value += i == 5;
    break;
  case HANG:
    for (volatile int forever = 1; forever;)
      ;
    break;
  case WILD:
    *(volatile double *)((char *)a->y + (1ull << 36)) = 1.0;
    break;
  case STRAY:
    a->y[a->n + 3] = value; /* behind its region, within the page */
    break;
  case PEEKS:
    value += ((volatile const double *)a->y)[i - 100000]; /* zeroes, as in the application */
    break;
  case STRAY_IN_FRONT:
    a->y[-100000] = value;
    break;
  case ABORT:
    abort();
  case ROUNDED:
    value = nextafter(value, 1e300);
    break;
  case RANDOM:
    value += value * 1e-6 * (seed++ % 7);
    break;
  case ACCUMULATE:
    value += a->y[i];
    break;
  case WRITES_INPUT:
    ((double *)a->x)[i] += 1.0;
    break;
  case REMEMBERS:
    value = 3.0 * (1.0 + (double)i / (a->n - 1));
    break;
  case FUSSY:
    if (a->x[0] != 1.0)
      abort();
    break;
  case FUSSY_HANG:
    for (volatile int forever = a->x[0] != 1.0; forever;)
      ;
    break;
  case SLOW:
    for (volatile int spin = 0; spin < 2000; ++spin)
      ;
    break;
  }
  a->y[i] = value;
}

static void scale(r3cpu_block *block, const void *given) {
  const arguments_t *a = given;
  for (uint32_t t = 0; t < block->block[0]; ++t) {
    const int i = (int)(block->block_id[0] * block->block[0] + t);
    if (i < a->n)
      store(a, i);
  }
  if (block->block_id[0] == 0)
    calls += 1;
}

static const r3cpu_parameter parameters[] = {{0, 8}, {8, 8}, {16, 4}};
static const r3cpu_kernel_entry kernels[] = {{"scale", (void *)scale, parameters, 3, R3CPU_FORM_LOOP, 0, 0}};
static const r3cpu_global_entry globals[] = {{"factor", factor, sizeof factor, 1, 0},
                                             {"calls", &calls, sizeof calls, 0, 0}};

__attribute__((visibility("default")))
const r3cpu_module_table_t r3cpu_module_table = {R3CPU_MODULE_VERSION, 1, kernels, 2, 0, globals};
