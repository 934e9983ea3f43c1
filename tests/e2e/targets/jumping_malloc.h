// See jumping_malloc.c.
#pragma once

#include <setjmp.h>

#define JUMP_SIZE 4242

extern jmp_buf jump_target;
