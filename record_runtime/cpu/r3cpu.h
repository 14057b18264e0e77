/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The engine of the cpu device as a C ABI: what a replay worker calls (libr3cpu.so through ctypes).
 *
 * Every function may be called from any thread; launches run one after another. On a status other than
 * R3CPU_OK, r3cpu_last_error() gives one sentence for the calling thread. A kernel that touches memory it
 * must not kills the process with SIGSEGV: callers that run unproven code do so in a process of their own.
 */
#ifndef R3CPU_H
#define R3CPU_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
  R3CPU_OK = 0,
  R3CPU_BAD_MODULE = 1,    /* not a lowered module, or of another version */
  R3CPU_NOT_FOUND = 2,     /* no kernel or global of that name */
  R3CPU_BAD_LAUNCH = 3,    /* illegal grid, block, shared size or argument buffer */
  R3CPU_DEADLOCK = 4,      /* threads wait at barriers or warp operations that the others never reach */
  R3CPU_TRAP = 5,          /* the kernel executed a trap */
  R3CPU_ASSERT = 6,        /* an assertion in the kernel failed */
  R3CPU_OUT_OF_MEMORY = 7, /* memory, stacks or address range not to be had */
  R3CPU_TIMEOUT = 8,       /* the launch ran past the deadline */
  R3CPU_UNSUPPORTED = 9    /* the kernel came to what has no form on the host */
} r3cpu_status;

typedef struct r3cpu_module r3cpu_module;
typedef struct r3cpu_kernel r3cpu_kernel; /* owned by its module */

/* One sentence about the calling thread's last failure, "" if none. Valid until its next call. */
const char *r3cpu_last_error(void);

/* Loads `path`, a shared object made from a lowered module. Each load has globals of its own only if the file
 * differs. */
r3cpu_status r3cpu_module_load(const char *path, r3cpu_module **module);
void r3cpu_module_unload(r3cpu_module *);

size_t r3cpu_module_kernel_count(const r3cpu_module *);
const char *r3cpu_module_kernel_name(const r3cpu_module *, size_t index);
r3cpu_status r3cpu_module_kernel(r3cpu_module *, const char *name, r3cpu_kernel **kernel);

size_t r3cpu_module_global_count(const r3cpu_module *);
const char *r3cpu_module_global_name(const r3cpu_module *, size_t index);
/* Internal variables, too, by mangled name. `size` in bytes. */
r3cpu_status r3cpu_module_global(r3cpu_module *, const char *name, void **address, size_t *size);

typedef struct {
  uint32_t form;          /* 0 loops over the block's threads, 1 one fiber a thread */
  uint32_t static_shared; /* bytes */
  uint32_t max_threads;   /* threads a block */
  uint32_t parameter_count;
  uint32_t argument_size; /* bytes of the argument buffer */
} r3cpu_kernel_attributes;
void r3cpu_kernel_get_attributes(const r3cpu_kernel *, r3cpu_kernel_attributes *);
/* Byte range of parameter `index` in the argument buffer. R3CPU_NOT_FOUND past the last. */
r3cpu_status r3cpu_kernel_parameter(const r3cpu_kernel *, uint32_t index, uint32_t *offset, uint32_t *size);

typedef struct {
  uint32_t x, y, z;
} r3cpu_dim3;

/* Runs a launch to its end. `arguments`: the parameter buffer, parameters at the offsets the kernel states.
 * `shared`: dynamic shared bytes. `time_ns` (may be NULL): wall time of the launch in nanoseconds. */
r3cpu_status r3cpu_launch(r3cpu_kernel *, r3cpu_dim3 grid, r3cpu_dim3 block, uint32_t shared,
                          const void *arguments, size_t argument_size, uint64_t *time_ns);

/* Threads that blocks are spread over: R3_CPU_THREADS, else the process's cores. */
uint32_t r3cpu_worker_count(void);

/* Reserves [address, address + size) exactly there, inaccessible, without memory behind it.
 * R3CPU_OUT_OF_MEMORY if any of it is in use. Multiples of the page size. */
r3cpu_status r3cpu_memory_reserve(uint64_t address, size_t size);
/* Makes a reserved range readable and writable; new pages are zero. */
r3cpu_status r3cpu_memory_map(uint64_t address, size_t size);
/* Takes a range's pages away and makes it inaccessible again; it stays reserved. */
r3cpu_status r3cpu_memory_unmap(uint64_t address, size_t size);
/* Gives a reserved range back. */
r3cpu_status r3cpu_memory_release(uint64_t address, size_t size);

#ifdef __cplusplus
}
#endif
#endif
