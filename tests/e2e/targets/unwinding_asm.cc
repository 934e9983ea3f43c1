#include "unwinding.h"

// The register of the frame pointer holds something else, and is saved in the middle of the frame.
asm(R"(
  .text
  .globl ask_by_hand
  .type ask_by_hand, @function
ask_by_hand:
  .cfi_startproc
  pushq %r12
  .cfi_adjust_cfa_offset 8
  .cfi_offset %r12, -16
  subq $56, %rsp
  .cfi_adjust_cfa_offset 56
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq $7, %rbp
  call ask_for_assembly
  popq %rbp
  .cfi_adjust_cfa_offset -8
  .cfi_restore %rbp
  addq $56, %rsp
  .cfi_adjust_cfa_offset -56
  popq %r12
  .cfi_adjust_cfa_offset -8
  .cfi_restore %r12
  ret
  .cfi_endproc
  .size ask_by_hand, . - ask_by_hand
)");

// What is said of its frame is wrong: it would end far beyond the stack.
asm(R"(
  .text
  .globl ask_from_nowhere
  .type ask_from_nowhere, @function
ask_from_nowhere:
  .cfi_startproc
  subq $8, %rsp
  .cfi_def_cfa_offset 1048576
  call ask_quietly
  addq $8, %rsp
  .cfi_def_cfa_offset 8
  ret
  .cfi_endproc
  .size ask_from_nowhere, . - ask_from_nowhere
)");

// As the stubs of a .plt: one rule for 16 bytes of code, which push a word up to the 11th. The
// bytes are DW_CFA_def_cfa_expression: rsp + 8 + (((rip & 15) >= 11) << 3).
#define STUB_RULE                                                                 \
  ".cfi_escape 0x0f, 0x0b, 0x77, 0x08, 0x80, 0x00, 0x3f, 0x1a, 0x3b, 0x2a, 0x33," \
  " 0x24, 0x22\n"
asm(R"(
  .text
  .p2align 4
  .globl ask_in_stub_after_push
  .type ask_in_stub_after_push, @function
ask_in_stub_after_push:
  .cfi_startproc
  )" STUB_RULE R"(
  .nops 6
  pushq $7
  call ask_for_assembly
  popq %rax
  ret
  .cfi_endproc
  .size ask_in_stub_after_push, . - ask_in_stub_after_push

  .p2align 4
  .globl ask_in_stub_before_push
  .type ask_in_stub_before_push, @function
ask_in_stub_before_push:
  .cfi_startproc
  )" STUB_RULE R"(
  call ask_for_assembly
  ret
  .cfi_endproc
  .size ask_in_stub_before_push, . - ask_in_stub_before_push

  .globl call_stub_before_push
  .type call_stub_before_push, @function
call_stub_before_push:
  .cfi_startproc
  subq $16, %rsp
  .cfi_adjust_cfa_offset 16
  call ask_in_stub_before_push
  addq $16, %rsp
  .cfi_adjust_cfa_offset -16
  ret
  .cfi_endproc
  .size call_stub_before_push, . - call_stub_before_push
)");

// So many bytes, then the caller's frame pointer, then so many more. The register then holds
// something that looks like one.
#define HOLDER(NAME, ABOVE, BELOW)                                        \
  asm("  .text\n  .globl " #NAME "\n  .type " #NAME ", @function\n" #NAME \
      ":\n"                                                               \
      "  .cfi_startproc\n"                                                \
      "  subq $" #ABOVE                                                   \
      ", %rsp\n"                                                          \
      "  .cfi_adjust_cfa_offset " #ABOVE                                  \
      "\n"                                                                \
      "  pushq %rbp\n"                                                    \
      "  .cfi_adjust_cfa_offset 8\n  .cfi_rel_offset %rbp, 0\n"           \
      "  subq $" #BELOW                                                   \
      ", %rsp\n"                                                          \
      "  .cfi_adjust_cfa_offset " #BELOW                                  \
      "\n"                                                                \
      "  leaq 64(%rsp), %rbp\n"                                           \
      "  call wander_for_assembly\n"                                      \
      "  addq $" #BELOW                                                   \
      ", %rsp\n"                                                          \
      "  .cfi_adjust_cfa_offset -" #BELOW                                 \
      "\n"                                                                \
      "  popq %rbp\n"                                                     \
      "  .cfi_adjust_cfa_offset -8\n  .cfi_restore %rbp\n"                \
      "  addq $" #ABOVE                                                   \
      ", %rsp\n"                                                          \
      "  .cfi_adjust_cfa_offset -" #ABOVE                                 \
      "\n"                                                                \
      "  ret\n"                                                           \
      "  .cfi_endproc\n  .size " #NAME ", . - " #NAME)
HOLDER(hold_above, 0, 32);
HOLDER(hold_between, 16, 16);
HOLDER(hold_below, 32, 0);
asm(R"(
  .text
  .globl hold_nothing
  .type hold_nothing, @function
hold_nothing:
  .cfi_startproc
  subq $40, %rsp
  .cfi_adjust_cfa_offset 40
  call wander_for_assembly
  addq $40, %rsp
  .cfi_adjust_cfa_offset -40
  ret
  .cfi_endproc
  .size hold_nothing, . - hold_nothing
)");

asm(R"(
  .text
  .globl hold_at_frame
  .type hold_at_frame, @function
hold_at_frame:
  .cfi_startproc
  subq $56, %rsp
  .cfi_adjust_cfa_offset 56
  movq %rbp, %rax
  movl %edi, %ecx
  andl $1, %ecx
  shll $4, %ecx
  leaq 8(%rsp, %rcx), %rbp
  movq %rax, (%rbp)
  # DW_CFA_expression: rbp is saved where rbp points
  .cfi_escape 0x10, 0x06, 0x02, 0x76, 0x00
  call wander_for_assembly
  movq (%rbp), %rbp
  .cfi_restore %rbp
  addq $56, %rsp
  .cfi_adjust_cfa_offset -56
  ret
  .cfi_endproc
  .size hold_at_frame, . - hold_at_frame
)");
