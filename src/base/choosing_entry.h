// An entry point that asks a function of ours where to go on: to another function with the
// arguments and the caller unchanged, or back with an answer. For dlsym() and its kind, whose
// RTLD_NEXT and RTLD_DEFAULT mean the library of the return address. So it is written in assembly:
// it asks, puts the arguments back and jumps.
//
//   extern "C" Choice choose(first, second, third, const void* caller);   // visible to the linker, not outside
//   WT_ENTRY("dlsym", "choose");
//
// Up to three arguments in registers.
#pragma once

namespace wavetap {

// Where the entry goes on: to `jump`, or, when that is null, back to the caller with `answer`.
struct Choice {
  void* jump;
  void* answer;
};

}  // namespace wavetap

// clang-format off
#if defined(__aarch64__)
#define WT_ENTRY(name, choose)               \
  asm(".text\n"                              \
      ".balign 16\n"                         \
      ".globl " name "\n"                    \
      ".type " name ", %function\n"          \
      name ":\n"                             \
      "  .cfi_startproc\n"                   \
      "  hint #34\n"                         \
      "  stp x29, x30, [sp, #-48]!\n"        \
      "  .cfi_def_cfa_offset 48\n"           \
      "  .cfi_offset 29, -48\n"              \
      "  .cfi_offset 30, -40\n"              \
      "  mov x29, sp\n"                      \
      "  stp x0, x1, [sp, #16]\n"            \
      "  str x2, [sp, #32]\n"                \
      "  mov x3, x30\n"                      \
      "  bl " choose "\n"                    \
      "  mov x16, x0\n"                      \
      "  mov x17, x1\n"                      \
      "  ldp x0, x1, [sp, #16]\n"            \
      "  ldr x2, [sp, #32]\n"                \
      "  ldp x29, x30, [sp], #48\n"          \
      "  .cfi_def_cfa_offset 0\n"            \
      "  .cfi_restore 29\n"                  \
      "  .cfi_restore 30\n"                  \
      "  cbz x16, 1f\n"                      \
      "  br x16\n"                           \
      "1:\n"                                 \
      "  mov x0, x17\n"                      \
      "  ret\n"                              \
      "  .cfi_endproc\n"                     \
      ".size " name ", .-" name "\n")
#elif defined(__x86_64__)
#define WT_ENTRY(name, choose)               \
  asm(".text\n"                              \
      ".balign 16\n"                         \
      ".globl " name "\n"                    \
      ".type " name ", @function\n"          \
      name ":\n"                             \
      "  .cfi_startproc\n"                   \
      "  endbr64\n"                          \
      "  pushq %rdi\n"                       \
      "  .cfi_adjust_cfa_offset 8\n"         \
      "  pushq %rsi\n"                       \
      "  .cfi_adjust_cfa_offset 8\n"         \
      "  pushq %rdx\n"                       \
      "  .cfi_adjust_cfa_offset 8\n"         \
      "  movq 24(%rsp), %rcx\n"              \
      "  call " choose "\n"                  \
      "  movq %rdx, %r11\n"                  \
      "  popq %rdx\n"                        \
      "  .cfi_adjust_cfa_offset -8\n"        \
      "  popq %rsi\n"                        \
      "  .cfi_adjust_cfa_offset -8\n"        \
      "  popq %rdi\n"                        \
      "  .cfi_adjust_cfa_offset -8\n"        \
      "  testq %rax, %rax\n"                 \
      "  jz 1f\n"                            \
      "  jmpq *%rax\n"                       \
      "1:\n"                                 \
      "  movq %r11, %rax\n"                  \
      "  ret\n"                              \
      "  .cfi_endproc\n"                     \
      ".size " name ", .-" name "\n")
#endif
// clang-format on
