// Functions that must leave no frame of ours: dlopen looks at its caller (RUNPATH, namespace), and
// syscall() takes anything. Each is a few instructions that jump on, with all registers and the
// stack as they came.
#pragma once

// For a call from a trampoline: keeps the registers that pass arguments.
#define HEAPTAPE_KEEPING_ARGUMENTS(call) \
  "  sub $56, %rsp\n"                    \
  "  .cfi_adjust_cfa_offset 56\n"        \
  "  mov %rdi, (%rsp)\n"                 \
  "  mov %rsi, 8(%rsp)\n"                \
  "  mov %rdx, 16(%rsp)\n"               \
  "  mov %rcx, 24(%rsp)\n"               \
  "  mov %r8, 32(%rsp)\n"                \
  "  mov %r9, 40(%rsp)\n"                \
  "  call " call                         \
  "\n"                                   \
  "  mov (%rsp), %rdi\n"                 \
  "  mov 8(%rsp), %rsi\n"                \
  "  mov 16(%rsp), %rdx\n"               \
  "  mov 24(%rsp), %rcx\n"               \
  "  mov 32(%rsp), %r8\n"                \
  "  mov 40(%rsp), %r9\n"                \
  "  add $56, %rsp\n"                    \
  "  .cfi_adjust_cfa_offset -56\n"

// Defines the function NAME: `body`, then a jump to where heaptape_next_NAME points. FIND is an
// extern "C" function without parameters that sets the pointer; it runs with the first call.
#define HEAPTAPE_TRAMPOLINE(name, find, body)                                       \
  extern "C" {                                                                      \
  void heaptape_find_##name();                                                      \
  __attribute__((visibility("hidden"),                                              \
                 used)) void (*heaptape_next_##name)() = heaptape_find_##name;      \
  }                                                                                 \
  asm(".text\n"                                                                     \
      ".p2align 4\n"                                                                \
      ".globl " #name                                                               \
      "\n"                                                                          \
      ".type " #name ", @function\n" #name                                          \
      ":\n"                                                                         \
      "  .cfi_startproc\n"                                                          \
      "  endbr64\n" body "1:  jmp *heaptape_next_" #name                            \
      "(%rip)\n"                                                                    \
      "  .cfi_endproc\n"                                                            \
      ".size " #name ", . - " #name                                                 \
      "\n"                                                                          \
      ".hidden heaptape_find_" #name                                                \
      "\n"                                                                          \
      ".globl heaptape_find_" #name                                                 \
      "\n"                                                                          \
      ".type heaptape_find_" #name                                                  \
      ", @function\n"                                                               \
      "heaptape_find_" #name                                                        \
      ":\n"                                                                         \
      "  .cfi_startproc\n"                                                          \
      "  endbr64\n" HEAPTAPE_KEEPING_ARGUMENTS(#find) "  jmp *heaptape_next_" #name \
                                                      "(%rip)\n"                    \
                                                      "  .cfi_endproc\n"            \
                                                      ".size heaptape_find_" #name  \
                                                      ", . - heaptape_find_" #name "\n")
