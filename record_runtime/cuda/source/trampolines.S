// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// dlsym and dlvsym. For names that the recorder doesn't wrap they jump to the C library's own without a frame
// between: RTLD_NEXT and RTLD_DEFAULT depend on the caller's address.

#if defined(__x86_64__)

  .macro lookup name, real
  .globl \name
  .type \name, @function
  .p2align 4
\name:
  endbr64
  pushq %rdi
  pushq %rsi
  pushq %rdx
  call r3_wrapper_for
  popq %rdx
  popq %rsi
  popq %rdi
  testq %rax, %rax
  jnz 1f
  jmpq *\real(%rip)
1:
  ret
  .size \name, . - \name
  .endm

#elif defined(__aarch64__)

  .macro lookup name, real
  .globl \name
  .type \name, %function
  .p2align 4
\name:
  stp x29, x30, [sp, #-48]!
  mov x29, sp
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  bl r3_wrapper_for
  mov x16, x0
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  cbnz x16, 1f
  adrp x16, \real
  ldr x16, [x16, #:lo12:\real]
  br x16
1:
  mov x0, x16
  ret
  .size \name, . - \name
  .endm

#else
#error "the recorder's dlsym is written for x86_64 and aarch64"
#endif

  .text
  .hidden r3_wrapper_for
  .hidden r3_real_dlsym
  .hidden r3_real_dlvsym
  lookup dlsym, r3_real_dlsym
  lookup dlvsym, r3_real_dlvsym

  .section .note.GNU-stack, "", %progbits
