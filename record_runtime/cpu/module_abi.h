/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a lowered module (passes/cpu) and libr3cpu.so agree on: the table a module exports, the block context
 * a kernel reads, and the functions it calls. docs/cpu-device.md explains it. passes/cpu writes these layouts
 * by field index.
 */
#ifndef R3CPU_MODULE_ABI_H
#define R3CPU_MODULE_ABI_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Raised with every change of this file: a module of another version is refused. */
#define R3CPU_MODULE_VERSION 3u
#define R3CPU_WARP_SIZE 32u
/* The one symbol that a lowered module exports. */
#define R3CPU_MODULE_SYMBOL "r3cpu_module_table"

typedef enum {
  R3CPU_FORM_LOOP = 0, /* void entry(r3cpu_block *, const void *arguments): runs all threads of the block */
  R3CPU_FORM_FIBER =
      1 /* void entry(r3cpu_block *, const void *arguments, uint32_t x, y, z): runs one thread */
} r3cpu_form;

typedef struct {
  uint32_t offset;
  uint32_t size;
} r3cpu_parameter;

typedef struct {
  const char *name; /* mangled */
  void *entry;
  const r3cpu_parameter *parameters;
  uint32_t parameter_count;
  uint32_t form;          /* r3cpu_form */
  uint32_t static_shared; /* bytes; dynamic shared memory follows; both aligned to 1024 */
  uint32_t max_threads;   /* threads a block, from launch bounds; 0 if none */
  uint32_t wave;          /* threads that run as one: 32, or 64 on some of AMD's GPUs */
} r3cpu_kernel_entry;

typedef struct {
  const char *name; /* mangled */
  void *address;
  uint64_t size;
  uint32_t constant; /* 1 for __constant__ */
  uint32_t reserved;
} r3cpu_global_entry;

typedef struct {
  uint32_t version;
  uint32_t kernel_count;
  const r3cpu_kernel_entry *kernels;
  uint32_t global_count;
  uint32_t reserved;
  const r3cpu_global_entry *globals;
} r3cpu_module_table_t;

/* One block being run. Constant while the block runs. The engine's own state stands behind it. */
typedef struct {
  uint32_t grid[3];
  uint32_t block[3];
  uint32_t block_id[3];
  uint32_t dynamic_shared_size;
  unsigned char *shared;         /* static shared memory */
  unsigned char *dynamic_shared; /* behind it */
  uint32_t static_shared_size;
  uint32_t worker; /* index of the thread that runs the block: %smid */
  uint64_t launch; /* running number: %gridid */
  /* AMD: the launch as its code reads it, in the layouts of code object version 5 */
  const unsigned char *implicit_arguments;
  const unsigned char *dispatch_packet;
} r3cpu_block;

/* --- called by kernels; those that suspend by kernels of fiber form only --- */

typedef enum { R3CPU_REDUCE_COUNT = 0, R3CPU_REDUCE_AND = 1, R3CPU_REDUCE_OR = 2 } r3cpu_block_reduction;
/* Waits for `count` threads (0: all that have not ended) at barrier `id`. */
void r3cpu_barrier(r3cpu_block *, uint32_t id, uint32_t count);
/* Arrives at barrier `id` without waiting. */
void r3cpu_barrier_arrive(r3cpu_block *, uint32_t id, uint32_t count);
uint32_t r3cpu_barrier_reduce(r3cpu_block *, uint32_t id, uint32_t count, uint32_t reduction,
                              uint32_t predicate);

/* Warp operations: `mask` names the lanes that take part; lanes that have ended are ignored. */
void r3cpu_warp_sync(r3cpu_block *, uint32_t mask);
/* Lanes of the warp that are at this very call; `site` tells calls apart. */
uint32_t r3cpu_active_mask(r3cpu_block *, uint32_t site);
typedef enum {
  R3CPU_SHUFFLE_UP = 0,
  R3CPU_SHUFFLE_DOWN = 1,
  R3CPU_SHUFFLE_XOR = 2,
  R3CPU_SHUFFLE_INDEX = 3
} r3cpu_shuffle_mode;
/* PTX shfl.sync: `lane` and `clamp` are its operands b and c. Low 32 bits: the value; bit 32: the source lane
 * took part. */
uint64_t r3cpu_shuffle(r3cpu_block *, uint32_t mask, uint32_t mode, uint32_t value, uint32_t lane,
                       uint32_t clamp);
typedef enum {
  R3CPU_VOTE_ALL = 0,
  R3CPU_VOTE_ANY = 1,
  R3CPU_VOTE_UNIFORM = 2,
  R3CPU_VOTE_BALLOT = 3
} r3cpu_vote_mode;
uint32_t r3cpu_vote(r3cpu_block *, uint32_t mask, uint32_t mode, uint32_t predicate);
uint32_t r3cpu_match_any(r3cpu_block *, uint32_t mask, uint64_t value);
/* Low 32 bits: mask if all values are equal, else 0; bit 32: whether they are. */
uint64_t r3cpu_match_all(r3cpu_block *, uint32_t mask, uint64_t value);
typedef enum {
  R3CPU_WARP_ADD = 0,
  R3CPU_WARP_SMIN = 1,
  R3CPU_WARP_SMAX = 2,
  R3CPU_WARP_UMIN = 3,
  R3CPU_WARP_UMAX = 4,
  R3CPU_WARP_AND = 5,
  R3CPU_WARP_OR = 6,
  R3CPU_WARP_XOR = 7
} r3cpu_warp_reduction;
uint32_t r3cpu_warp_reduce(r3cpu_block *, uint32_t mask, uint32_t reduction, uint32_t value);
/* Wave operations of AMD's GPUs, which name no lanes: those that wait at the same `site` take part. Sites are
 * numbered in the order of the program, and lanes at a later one wait for those at an earlier one. */
typedef enum {
  R3CPU_WAVE_SYNC = 0,
  R3CPU_WAVE_BALLOT = 1,  /* lanes whose value is not 0 */
  R3CPU_WAVE_FIRST = 2,   /* the value of the first lane that takes part */
  R3CPU_WAVE_GATHER = 3,  /* the value of lane `lane`; 0 if that takes no part */
  R3CPU_WAVE_SCATTER = 4, /* the value of the last lane that names this one; 0 if none does */
  R3CPU_WAVE_FETCH = 5    /* as GATHER, but `fallback` from a lane that takes no part */
} r3cpu_wave_operation;
uint64_t r3cpu_wave(r3cpu_block *, uint32_t site, uint32_t operation, uint64_t value, uint32_t lane,
                    uint64_t fallback);
/* Ends this thread (PTX exit). Fiber form only. */
void r3cpu_exit(r3cpu_block *) __attribute__((noreturn));

/* Lets the block's other threads run, in fiber form. */
void r3cpu_yield(r3cpu_block *);
uint32_t r3cpu_lane(const r3cpu_block *, uint32_t x, uint32_t y, uint32_t z);
uint64_t r3cpu_clock(void);       /* cycles */
uint64_t r3cpu_globaltimer(void); /* nanoseconds */
/* CUDA's vprintf: `arguments` are packed at their natural alignment. */
int32_t r3cpu_vprintf(const char *format, const void *arguments);
/* printf of HIP's device code: a message is begun, gets texts (the format first) and words, and is printed
 * with the last. */
uint64_t r3cpu_message_begin(void);
uint64_t r3cpu_message_text(uint64_t message, const char *text, uint64_t size, uint32_t is_last);
uint64_t r3cpu_message_words(uint64_t message, uint32_t count, uint64_t, uint64_t, uint64_t, uint64_t,
                             uint64_t, uint64_t, uint64_t, uint32_t is_last);
void r3cpu_assert_fail(r3cpu_block *, const char *message, const char *file, uint32_t line,
                       const char *function) __attribute__((noreturn));
void r3cpu_trap(r3cpu_block *) __attribute__((noreturn));
/* Where the device code does what has no form on the host; `sentence` says what. */
void r3cpu_unsupported(r3cpu_block *, const char *sentence) __attribute__((noreturn));

#ifdef __cplusplus
}
#endif
#endif
