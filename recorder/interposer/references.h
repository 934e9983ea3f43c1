// Redirects what loaded objects call, where a function must not be exported: a program that looks
// whether it exists would take it for the library that it stands before.
#pragma once

#include <cstddef>

namespace heaptape::recorder {

struct Redirection {
  const char* name;
  const void* hook;
  const void* function;  // the library's
  bool is_first;         // it is what the name means to the program
};

// The references (R_X86_64_JUMP_SLOT, GLOB_DAT and 64 of the x86-64 psABI) of objects that are
// loaded now to one of these functions become references to its hook, but for those of the object
// at `library`. References to another function of that name stay. The pages keep their protection:
// /proc/self/mem writes to those that are read-only (proc_pid_mem(5)). Where that cannot be done,
// nothing changes.
void redirect_references(const Redirection* redirections, size_t count, const void* library);

// The function of that name of the object at `library`, and no entry by which others call it; null
// if it exports none. Finds it by DT_GNU_HASH, and opens nothing: dlopen would run the constructors
// of a library that has not begun.
void* function_in(const void* library, const char* name);

// `address`, which a name means to the program, is the entry by which a program at a fixed address
// calls a function that another object has (x86-64 psABI, "Function Addresses").
bool is_entry_of_fixed_program(const char* name, const void* address);

}  // namespace heaptape::recorder
