// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text of chunk_kernels.ptx, as a C string.

  .section .rodata
  .globl r3_chunk_kernels
  .hidden r3_chunk_kernels
  .type r3_chunk_kernels, @object
r3_chunk_kernels:
  .incbin "chunk_kernels.ptx"
  .byte 0
  .size r3_chunk_kernels, . - r3_chunk_kernels

  .section .note.GNU-stack, "", @progbits
