// Code whose functions and lines are known: each line that calls has a mark, which tests look for
// in this file.
namespace marked {

using Callback = void (*)();

namespace {

// The call behind keeps this one from being a jump.
inline __attribute__((always_inline)) void hidden(Callback call) {
  call();  // mark: hidden
  asm volatile("");
}

__attribute__((noinline)) void unexported(Callback call) {
  call();  // mark: unexported
  asm volatile("");
}

}  // namespace

template <typename T>
struct Box {
  __attribute__((always_inline)) inline void open(T, Callback call) {
    hidden(call);  // mark: open
  }
};

__attribute__((noinline)) int exported(int value, Callback call) {
  Box<int> box;
  box.open(value, call);  // mark: exported
  return value;
}

}  // namespace marked

extern "C" void plain_call(void (*call)()) {
  call();  // mark: plain
  asm volatile("");
}

extern "C" void inlined_call(void (*call)()) {
  marked::exported(1, call);
  asm volatile("");
}

extern "C" void unexported_call(void (*call)()) {
  marked::unexported(call);
  asm volatile("");
}
