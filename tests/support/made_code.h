// Functions made at run time, for tests of walks through code without rules.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <ostream>
#include <vector>

#include "base/output_file.h"
#include "recorder/collector/code_tables.h"
#include "recorder/interposer/code_view.h"
#include "tests/support/live_session.h"

namespace heaptape::tests {

// A function made at run time that calls its second argument.
struct MadeFunction {
  const char* name;
  std::vector<uint8_t> code;
};

inline std::ostream& operator<<(std::ostream& out, const MadeFunction& function) {
  return out << function.name;
}

// push %rbp; mov %rsp,%rbp; sub $0x40,%rsp; call *%rsi; nop; leave; ret
inline const MadeFunction kKeepsAFramePointer{
    "KeepsAFramePointer",
    {0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x40, 0xff, 0xd6, 0x90, 0xc9, 0xc3}};

using Made = void (*)(uintptr_t, void (*)());

// A page of code: a function that keeps a frame pointer, and two of one kind.
class MadePage {
 public:
  explicit MadePage(const MadeFunction& function)
      : memory_(static_cast<uint8_t*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    std::ranges::copy(kKeepsAFramePointer.code, memory_);
    for (size_t i = 1; i <= 2; ++i) std::ranges::copy(function.code, memory_ + i * kEach);
    mprotect(memory_, kBytes, PROT_READ | PROT_EXEC);
  }
  ~MadePage() { munmap(memory_, kBytes); }
  MadePage(const MadePage&) = delete;
  MadePage& operator=(const MadePage&) = delete;

  // Alternates between two, so that no frame is where it was in the previous call. The first
  // argument is an address in the page that no call precedes.
  void call(size_t round, void (*hook)()) const {
    const auto function = reinterpret_cast<Made>(memory_ + (1 + round % 2) * kEach);
    function(reinterpret_cast<uintptr_t>(memory_) + kEach / 2, hook);
  }

 private:
  static constexpr size_t kBytes = 4096;
  static constexpr size_t kEach = 64;

  uint8_t* const memory_;
};

// The tables of this process's code, as made by the collector.
class OwnCode {
 public:
  OwnCode() { recorder::map_code_file(tables_->descriptor()); }
  // Walks then know the current mappings.
  void look(const LiveSession& session) const {
    const std::string maps = *base::read_file("/proc/self/maps", 1 << 20);
    const uint64_t map = tables_->read(static_cast<uint32_t>(getpid()), maps).code_map;
    recorder::ProcessSlot& slot = session.view().process(0);
    slot.code_map = recorder::with_map(slot.code_map, map);
  }

 private:
  const std::unique_ptr<recorder::CodeTables> tables_ =
      std::move(*recorder::CodeTables::create(recorder::Unwinding::kTables));
};

inline recorder::SessionOptions by_tables() {
  return {recorder::Follow::kAll, recorder::OnFull::kBlock, 64, recorder::Unwinding::kTables};
}

}  // namespace heaptape::tests
