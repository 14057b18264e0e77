/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The flat C ABI of libR3Passes.so: what Python (r3cc/llvm) calls. No LLVM type crosses it.
 *
 * Every call returns an r3_result that the caller frees. Requests are JSON texts (unknown keys are errors),
 * outputs are bytes. A call may abort the process (LLVM fatal errors) or never end: callers run it in a
 * compile process with a deadline.
 */
#ifndef R3_PASSES_H
#define R3_PASSES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct r3_result r3_result;

typedef enum {
  R3_OK = 0,
  R3_BAD_REQUEST = 1,  /* the request's JSON is not what the call takes */
  R3_BAD_BITCODE = 2,  /* not bitcode, or bitcode of a newer LLVM */
  R3_BAD_PIPELINE = 3, /* LLVM cannot parse the pipeline text: message says where */
  R3_BAD_KERNEL = 4,   /* no such kernel in the module */
  R3_UNSUPPORTED = 5,  /* the module cannot be lowered to this target: message names kernel and instruction */
  R3_CODEGEN_ERROR = 6 /* code generation refused the module */
} r3_status;

r3_status r3_result_status(const r3_result *);
/* One sentence for R3_OK != status, else "". Owned by the result. */
const char *r3_result_message(const r3_result *);
/* The output's bytes (bitcode, PTX text, object file); NULL and 0 if none. */
const uint8_t *r3_result_output(const r3_result *, size_t *size);
/* JSON text with what the call measured or found; "{}" if nothing. */
const char *r3_result_report(const r3_result *);
void r3_result_free(r3_result *);

/* The LLVM version this library was built with, "22.1.8". */
const char *r3_llvm_version(void);

/* What a module holds, as docs/binary-format.md's `kernels` and `globals`, and per kernel the facts that
 * decide legal launches: {"kernels": [{"name", "parameters", "globals", "reads_block_size",
 * "reads_grid_size", "static_shared", "dynamic_shared", "barriers", "warp_operations", "atomics",
 * "element_types": {"<parameter index>": "float" | "double" | "i32" | …,
 * }, "written_only": [<index of a parameter through which the kernel only stores>, …],
 * "global_element_types": {"<global>": "float", …}, "max_threads", "accesses": [{"bytes", "strides": [x, y,
 * z], "count"}, …]}], …}. element_types come from the loads and stores reached through that parameter; a
 * parameter with several is left out ("mixed"). strides are the bytes from a thread's address in global
 * memory to that of the next one along each axis, null where that is no constant. */
r3_result *r3_describe(const uint8_t *bitcode, size_t size);

/* request: {"kernel": name}. The same with that kernel alone, in a small part of the time. */
r3_result *r3_describe_kernel(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"sizes": [bytes, …]} of the units of relocatable device code (-fgpu-rdc), which lie one after
 * another. Output: bitcode of all of them in one. report: {"undefined": [name, …]}: what they use and none of
 * them defines. */
r3_result *r3_link(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"kernel": name}. Output: bitcode with that kernel alone (architecture section 7: mutable internal
 * globals made external first, constants kept in order). */
r3_result *r3_extract(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"kernel": name, "arguments": ["<parameter index>=<its bytes in hex>", …], "block": "128,1,1",
 * "grid": "64,1,1", "tables": ["@<variable>=<its bytes in hex>", "<parameter index>+<offset>=<bytes>", …]},
 * all but kernel optional. Takes what r3_extract gave. Output: bitcode in which these scalar arguments,
 * structs passed by value and the launch dimensions that the kernel reads are constants: right for such
 * launches alone. Tables, memory that a launch does not change, are constants in a copy of the code, which
 * the kernel takes when they hold these bytes: right for all launches. R3_BAD_REQUEST for what is not one. */
r3_result *r3_specialise(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"kernel": name}. report: what r3_specialise takes for tables: {"variables": [{"name", "size"},
 * …], "memory": [{"argument": index, "offset", "size"}, …]}, and "values": [index of a struct passed by value
 * and without pointers, …]. */
r3_result *r3_tables(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"pipeline": "default<O3>", "codegen_level": 0..3, "fp_contract": "off"|"on"|"fast"|"never",
 * "cpu": "sm_90", "features": "+ptx87", "vectorize_loops": bool, "vectorize_slp": bool, "unroll_loops": bool,
 * "mllvm": ["-opt=value", …], "kernel_attributes": {"maxntid": "256,1,1", "minctasm": "2", "maxnreg": "64"},
 * "remarks": bool, "emit": "assembly" | "object" | "bitcode" | "text"}. All but pipeline optional; cpu and
 * features default to the module's, the host's for a host module. fp_contract "off", "on" and "fast" are
 * clang's; "never" also drops the permission to fuse that the IR carries. kernel_attributes go on every
 * kernel of the module; "" removes what the source gave. mllvm options are global to the process: its first
 * compile decides them, and another set later is R3_BAD_REQUEST. Output: PTX text for an NVPTX module, an
 * object file for a host module. Deterministic: equal inputs, equal bytes. report: {"ir_hash": "<hash of the
 * optimised IR>", "optimise_ns", "codegen_ns", "remarks": [text, …]}. */
r3_result *r3_compile(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"cpu": host CPU name or "native"}. Lowers an NVPTX module to a host module for libr3cpu
 * (docs/cpu-device.md). Output: host bitcode, unoptimised, which r3_compile then turns into an object. */
r3_result *r3_lower_to_host(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"kernel": name}. Two parts of what r3_lower_to_host gave, which link into one module: the whole
 * module without the kernel's code, and, of a module that holds this kernel alone, its entry. Each goes
 * through r3_compile. */
r3_result *r3_host_without(const uint8_t *lowered, size_t size, const char *request);
r3_result *r3_host_alone(const uint8_t *lowered, size_t size, const char *request);

/* request: {"kernel": name}. report: {"digest": "<sha256>"}: the kernel digest of architecture section 1. */
r3_result *r3_kernel_digest(const uint8_t *bitcode, size_t size, const char *request);

/* request: {"pipeline": text, "triple": …, "cpu": …}. R3_OK or R3_BAD_PIPELINE. report: {"pipeline": the text
 * as LLVM prints it}. */
r3_result *r3_parse_pipeline(const char *request);

/* report: {"module": [name, …], "cgscc": […], "function": […], "loop": […], "loop-mssa": […], "parameters":
 * {name: "options text"}}, from LLVM itself. */
r3_result *r3_list_passes(const char *request /* {"triple": …, "cpu": …} */);

#ifdef __cplusplus
}
#endif
#endif
