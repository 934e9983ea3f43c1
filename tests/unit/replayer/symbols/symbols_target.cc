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

// Symbols whose edges are known: symbolizer_test.cc has the names of each byte.
asm(R"(
  .text
  .balign 64
  .globl edge_sized, edge_outer, edge_last, edge_alias, __edge_alias
  .weak _edge_weak
  .type edge_sized, "function"
edge_sized: .skip 8, 0x90
  .size edge_sized, 8
  .skip 8, 0x90
edge_label: .skip 8, 0x90
  .type edge_local, "function"
  .type edge_alias, "function"
  .type __edge_alias, "function"
  .type _edge_weak, "function"
edge_local:
edge_alias:
_edge_weak:
__edge_alias: .skip 8, 0x90
  .size edge_local, 8
  .size edge_alias, 8
  .size __edge_alias, 8
  .size _edge_weak, 8
  .type edge_outer, "function"
  .type edge_inner, "function"
edge_outer: .skip 4, 0x90
edge_inner: .skip 4, 0x90
  .size edge_inner, 4
  .skip 4, 0x90
edge_inside: .skip 4, 0x90
  .size edge_outer, 16
  .type edge_data, "object"
edge_data: .skip 8, 0x90
  .size edge_data, 8
  .type edge_last, "function"
  .type edge_short, "function"
edge_last:
edge_short: .skip 8, 0x90
  .size edge_last, 8
  .size edge_short, 4
)");
