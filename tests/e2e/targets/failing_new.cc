// operator new that fails, and that succeeds only after its handler made room.
//   failing_new throw     each throwing form once, for kHuge bytes; prints what was caught
//   failing_new nothrow   each form that returns null, once
//   failing_new handler   one that throws after a handler ran twice
//   failing_new retry     one that works when its handler has raised the memory limit
//   failing_new nested    one that works then, whose handler calls each form of operator new itself
//   failing_new jump      ten that their handler leaves by a jump, then one that works
#include <setjmp.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

constexpr size_t kHuge = PTRDIFF_MAX;
constexpr size_t kLarge = size_t{1} << 30;

int caught = 0;
int handled = 0;

template <typename Call>
void expect_bad_alloc(Call call) {
  try {
    call();
  } catch (const std::bad_alloc&) {
    ++caught;
  }
}

void expect_null(void* block) {
  if (block == nullptr) ++caught;
}

void give_up_the_second_time() {
  if (++handled == 2) std::set_new_handler(nullptr);
}

jmp_buf before_new;

void jump_out() {
  ++handled;
  longjmp(before_new, 1);
}

void set_memory_limit(rlim_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = bytes;
  setrlimit(RLIMIT_AS, &limit);
}

void raise_memory_limit() {
  ++handled;
  set_memory_limit(RLIM_INFINITY);
}

// Blocks for the handler itself, also one that fails and asks the handler again.
void allocate_and_raise_memory_limit() {
  if (++handled == 2) {
    std::set_new_handler(nullptr);
    return;
  }
  ::operator delete(::operator new(301));
  ::operator delete[](::operator new[](303));
  ::operator delete(::operator new(305, std::align_val_t(64)), std::align_val_t(64));
  ::operator delete(::operator new(307, std::nothrow));
  std::free(std::malloc(309));
  expect_null(::operator new(kHuge, std::nothrow));
  set_memory_limit(RLIM_INFINITY);
}

}  // namespace

int main(int, char** argv) {
  if (std::strcmp(argv[1], "throw") == 0) {
    expect_bad_alloc([] { return ::operator new(kHuge); });
    expect_bad_alloc([] { return ::operator new[](kHuge); });
    expect_bad_alloc([] { return ::operator new(kHuge, std::align_val_t(64)); });
    expect_bad_alloc([] { return ::operator new[](kHuge, std::align_val_t(64)); });
  } else if (std::strcmp(argv[1], "nothrow") == 0) {
    expect_null(::operator new(kHuge, std::nothrow));
    expect_null(::operator new[](kHuge, std::nothrow));
    expect_null(::operator new(kHuge, std::align_val_t(64), std::nothrow));
    expect_null(::operator new[](kHuge, std::align_val_t(64), std::nothrow));
  } else if (std::strcmp(argv[1], "handler") == 0) {
    std::set_new_handler(give_up_the_second_time);
    expect_bad_alloc([] { return ::operator new(kHuge); });
  } else if (std::strcmp(argv[1], "nested") == 0) {
    std::set_new_handler(allocate_and_raise_memory_limit);
    set_memory_limit(kLarge);
    ::operator delete(::operator new(kLarge));
    ::operator delete(::operator new(311));
  } else if (std::strcmp(argv[1], "jump") == 0) {
    std::set_new_handler(jump_out);
    while (handled < 10) {
      if (setjmp(before_new) == 0) ::operator delete(::operator new(kHuge));
    }
    ::operator delete(::operator new(101));
  } else {
    std::set_new_handler(raise_memory_limit);
    set_memory_limit(kLarge);
    ::operator delete(::operator new(kLarge));
  }
  char text[64];
  const int length = snprintf(text, sizeof text, "caught %d handled %d\n", caught, handled);
  return write(1, text, static_cast<size_t>(length)) == length ? 0 : 1;
}
