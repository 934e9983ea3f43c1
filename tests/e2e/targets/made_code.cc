// Makes functions at run time and asks for blocks from stacks that go through them. Says of each
// what the stack is: "SIZE ADDRESS ADDRESS ..." in a line each, from the caller of step() on. The
// shape is named on the command line.
#include <execinfo.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#ifdef __clang__
#define APART __attribute__((noinline))
#else
#define APART __attribute__((noinline, noclone))
#endif

namespace {

struct Walk;
using Next = void (*)(Walk*);
// Calls next(walk).
using Made = uintptr_t (*)(Walk*, Next);

// In machine code. The byte behind `call *%rsi` is where that returns to.
struct Kind {
  const char* name;
  std::vector<uint8_t> code;
};
const Kind kKinds[] = {
    // sub $8,%rsp; call; add $8,%rsp; ret: CPython's perf trampoline
    {"py::parse:/srv/app.py", {0x48, 0x83, 0xec, 8, 0xff, 0xd6, 0x48, 0x83, 0xc4, 8, 0xc3}},
    // push %rbp; mov $7,%rbp; call; pop %rbp; ret
    {"py::Reader.read:/srv/reader.py",
     {0x55, 0x48, 0xc7, 0xc5, 7, 0, 0, 0, 0xff, 0xd6, 0x5d, 0xc3}},
    // push %rbx; sub $0x110,%rsp; call; add $0x110,%rsp; pop %rbx; ret
    {"JS:*load /srv/app.js:12:3",
     {0x53, 0x48, 0x81, 0xec, 0x10, 1, 0, 0, 0xff, 0xd6, 0x48, 0x81, 0xc4, 0x10, 1, 0, 0, 0x5b,
      0xc3}},
    // push %rbp; mov %rsp,%rbp; sub $0x20,%rsp; call; leave; ret
    {"leaves", {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xff, 0xd6, 0xc9, 0xc3}},
    // push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; call; nop; mov %rbp,%rsp; pop %rbp; ret
    {"keeps a frame pointer",
     {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd6, 0x90, 0x48, 0x89, 0xec, 0x5d,
      0xc3}},
    // push %rbp; mov $7,%rbp; sub $0x10,%rsp; call; nop; add $0x10,%rsp; pop %rbp; ret
    {"hides", {0x55, 0x48, 0xc7, 0xc5, 7,    0,    0,    0,    0x48, 0x83, 0xec,
               0x10, 0xff, 0xd6, 0x90, 0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3}},
    // push %rbp; sub $0x20,%rsp; lea 8(%rsp),%rbp; movq $0x1234,8(%rbp); call; nop;
    // add $0x20,%rsp; pop %rbp; ret
    {"misleads", {0x55, 0x48, 0x83, 0xec, 0x20, 0x48, 0x8d, 0x6c, 0x24, 8,    0x48, 0xc7, 0x45, 8,
                  0x34, 0x12, 0,    0,    0xff, 0xd6, 0x90, 0x48, 0x83, 0xc4, 0x20, 0x5d, 0xc3}},
    // push %rbx; int3; pop %rbx; ret
    {"is interrupted", {0x53, 0xcc, 0x5b, 0xc3}},
    // mov (%rsp),%rax; ret
    {"tells where it was called", {0x48, 0x8b, 0x04, 0x24, 0xc3}},
};
constexpr size_t kPlain = 5;  // the first ones are walked through
constexpr size_t kHides = 5;
constexpr size_t kMisleads = 6;
constexpr size_t kInterrupted = 7;
constexpr size_t kTells = 8;

uint8_t* memory = nullptr;
constexpr size_t kEach = 64;  // bytes

Made made(size_t kind) {
  return reinterpret_cast<Made>(memory + kind * kEach);
}
void make() {
  constexpr size_t kBytes = 4096;
  memory = static_cast<uint8_t*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    memcpy(memory + i * kEach, kKinds[i].code.data(), kKinds[i].code.size());
  }
  mprotect(memory, kBytes, PROT_READ | PROT_EXEC);
}

uint32_t chance(uint32_t below) {
  static uint64_t seed = 1;
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return static_cast<uint32_t>(seed >> 33) % below;
}

// Goes through made functions, and asks on the way.
struct Walk {
  std::vector<size_t> kinds = {};         // to go through; empty: at random
  size_t size = 0;                        // to ask for, the next time
  std::vector<uintptr_t> addresses = {};  // of the stack up to step(), from the outermost on
  size_t depth = 0;

  bool asks() const { return kinds.empty() ? chance(2) == 0 : depth == kinds.size(); }
  // Whether to go on, after so many calls from the same place, and through what.
  bool goes_on(uint32_t calls, size_t& kind) const {
    kind = kinds.empty() ? chance(kPlain) : depth < kinds.size() ? kinds[depth] : 0;
    if (kinds.empty()) return depth < 30 && calls < 2 && chance(10) < 6;
    return depth < kinds.size() && calls == 0;
  }
};

void say(const Walk& walk, uintptr_t back) {
  printf("%zu %zx", walk.size, back);
  for (size_t i = walk.addresses.size(); i-- > 0;) printf(" %zx", walk.addresses[i]);
  printf("\n");
}

uintptr_t in_step = 0;  // where made functions return to

// Earlier calls leave return addresses where the next frame will be.
APART void clear_stack_below() {
  volatile char bytes[1024];
  for (volatile char& byte : bytes) byte = 0;
}

APART void step(Walk* walk) {
  const auto back = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  if (walk->asks()) {
    void* const block = malloc(walk->size);
    asm volatile("" : : "r"(block) : "memory");
    free(block);
    say(*walk, back);
    ++walk->size;
  }
  size_t kind = 0;
  for (uint32_t calls = 0; walk->goes_on(calls, kind); ++calls) {
    walk->addresses.push_back(back);
    walk->addresses.push_back(in_step);
    ++walk->depth;
    clear_stack_below();
    const uintptr_t told = made(kind)(walk, step);
    if (kind == kTells) in_step = told;
    --walk->depth;
    walk->addresses.resize(walk->addresses.size() - 2);
  }
}

APART void run(Walk walk) {
  void* frames[100];
  const int count = backtrace(frames, 100);
  for (int i = count; i-- > 1;) walk.addresses.push_back(reinterpret_cast<uintptr_t>(frames[i]));
  const size_t end = walk.size + 4000;
  do {
    step(&walk);
  } while (walk.kinds.empty() && walk.size < end);
  asm volatile("" : : : "memory");
}

// The recorder knows of the memory a moment after it came.
void run_often(const std::vector<size_t>& kinds, size_t size) {
  for (int i = 0; i < 100; ++i) {
    run({kinds, size});
    usleep(2000);
  }
}

void on_trap(int) {
  void* const block = malloc(3000);
  asm volatile("" : : "r"(block) : "memory");
  free(block);
}
void trap() {
  signal(SIGTRAP, on_trap);
  for (int i = 0; i < 100; ++i) {
    run({{0, kInterrupted}, 2000});
    usleep(2000);
  }
}

// The code is other code of the same length then, with a larger frame.
void replace() {
  run({{2}, 4000});
  mprotect(memory, 4096, PROT_READ | PROT_WRITE);
  for (const size_t at : {6, 15}) memory[2 * kEach + at - 2] = 0x30;
  mprotect(memory, 4096, PROT_READ | PROT_EXEC);
  run({{2}, 4001});
}

void write_names() {
  const std::string path = "/tmp/perf-" + std::to_string(getpid()) + ".map";
  FILE* const file = fopen(path.c_str(), "w");
  if (file == nullptr) exit(3);
  for (size_t i = 0; i < std::size(kKinds); ++i) {
    fprintf(file, "%zx %zx %s\n", reinterpret_cast<size_t>(made(i)), kKinds[i].code.size(),
            kKinds[i].name);
  }
  fclose(file);
}

}  // namespace

int main(int count, char** words) {
  const std::string shape = words[1];
  make();
  if (count > 2 && std::string(words[2]) == "names") write_names();
  run({{kTells}, 0});
  if (shape == "plain") {
    for (size_t kind = 0; kind < 4; ++kind) run({{kind}, 1000 + kind});
    run({{0, 1, 2, 3, 3, 2, 1, 0}, 1010});
  }
  if (shape == "random") {
    run_often({4}, 900);
    run({{}, 10000});
  }
  if (shape == "guess") run_often({0, 4, 2, 4, 4}, 1100);
  if (shape == "hides") run_often({0, kHides}, 1200);
  if (shape == "misleads") run_often({0, kMisleads}, 1300);
  if (shape == "trap") trap();
  if (shape == "replace") replace();
  if (shape == "named") run({{0, 1, 2, 3}, 1400});
  return 0;
}
