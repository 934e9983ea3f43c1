// The tables of real modules, compared with what libdw makes of the same call frame information:
// each side says where the caller's registers are, for made-up values of the registers.
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <memory>
#include <optional>
#include <ostream>

#include "base/elf_file.h"
#include "recorder/unwind/eh_frame.h"
#include "recorder/unwind/unwind_compiler.h"
#include "tests/support/modules.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kRsp = 0x7ffd'1234'5670;
constexpr uint64_t kRbp = 0x7ffd'2345'6780;

uint64_t register_value(uint64_t number, uint64_t rip) {
  switch (number) {
    case kDwarfRbp:
      return kRbp;
    case kDwarfRsp:
      return kRsp;
    case kDwarfReturnAddress:
      return rip;
    default:
      return 0x1111'0000 * (number + 1);
  }
}

// The word at `address`.
uint64_t memory_word(uint64_t address) {
  return address * 0x9e3779b97f4a7c15 >> 3;
}

// Where a register of the caller is.
struct Place {
  enum Kind { kSame, kUndefined, kMemory, kValue, kRegister } kind = kSame;
  uint64_t number = 0;

  bool operator==(const Place&) const = default;
};

std::ostream& operator<<(std::ostream& out, const Place& place) {
  return out << place.kind << ":" << std::hex << place.number << std::dec;
}

struct Caller {
  uint64_t cfa = 0;
  Place rbp, rsp, rip;
};

Place memory(uint64_t address) {
  return {Place::kMemory, address};
}

// --- what libdw says

class Evaluation {
 public:
  Evaluation(uint64_t rip, uint64_t cfa) : rip_(rip), cfa_(cfa) {}

  // What is uppermost in the end: beneath an expression that says where a register is lies the CFA.
  Place run(std::span<const Dwarf_Op> operations) {
    for (const Dwarf_Op& operation : operations) step(operation);
    return {kind_, pop()};
  }

 private:
  void step(const Dwarf_Op& operation) {
    const uint8_t atom = operation.atom;
    if (atom >= DW_OP_lit0 && atom <= DW_OP_lit31) return push(atom - DW_OP_lit0);
    if (atom >= DW_OP_breg0 && atom <= DW_OP_breg31) {
      return push(register_value(atom - DW_OP_breg0, rip_) + operation.number);
    }
    switch (atom) {
      case DW_OP_bregx:
        return push(register_value(operation.number, rip_) + operation.number2);
      case DW_OP_call_frame_cfa:
        return push(cfa_);
      case DW_OP_plus_uconst:
        return push(pop() + operation.number);
      case DW_OP_deref:
        return push(memory_word(pop()));
      case DW_OP_stack_value:
        kind_ = Place::kValue;
        return;
      case DW_OP_regx:
        kind_ = Place::kRegister;
        return push(operation.number);
      default:
        return step_binary(atom);
    }
  }
  void step_binary(uint8_t atom) {
    if (atom >= DW_OP_reg0 && atom <= DW_OP_reg31) {
      kind_ = Place::kRegister;
      return push(atom - DW_OP_reg0);
    }
    const uint64_t top = pop();
    const uint64_t below = pop();
    switch (atom) {
      case DW_OP_and:
        return push(below & top);
      case DW_OP_plus:
        return push(below + top);
      case DW_OP_shl:
        return push(below << top);
      case DW_OP_ge:
        return push(static_cast<int64_t>(below) >= static_cast<int64_t>(top) ? 1 : 0);
      default:
        ADD_FAILURE() << "operation " << int{atom};
        push(0);
    }
  }
  void push(uint64_t value) { stack_.push_back(value); }
  uint64_t pop() {
    if (stack_.empty()) {
      ADD_FAILURE() << "empty stack";
      return 0;
    }
    const uint64_t value = stack_.back();
    stack_.pop_back();
    return value;
  }

  uint64_t rip_;
  uint64_t cfa_;
  Place::Kind kind_ = Place::kMemory;
  std::vector<uint64_t> stack_;
};

struct Free {
  void operator()(Dwarf_Frame* frame) const { std::free(frame); }
};
using Frame = std::unique_ptr<Dwarf_Frame, Free>;

Place place_of(Dwarf_Frame* frame, uint64_t number, uint64_t rip, uint64_t cfa) {
  std::array<Dwarf_Op, 3> memory_of_operations;
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  EXPECT_EQ(dwarf_frame_register(frame, static_cast<int>(number), memory_of_operations.data(),
                                 &operations, &count),
            0);
  if (count == 0) return {operations == nullptr ? Place::kSame : Place::kUndefined, 0};
  return Evaluation(rip, cfa).run({operations, count});
}

Caller caller_by_libdw(Dwarf_Frame* frame, uint64_t rip) {
  Dwarf_Op* operations = nullptr;
  size_t count = 0;
  Caller caller;
  EXPECT_EQ(dwarf_frame_cfa(frame, &operations, &count), 0);
  if (count > 0) caller.cfa = Evaluation(rip, 0).run({operations, count}).number;
  caller.rbp = place_of(frame, kDwarfRbp, rip, caller.cfa);
  caller.rsp = place_of(frame, kDwarfRsp, rip, caller.cfa);
  caller.rip = place_of(frame, kDwarfReturnAddress, rip, caller.cfa);
  return caller;
}

// --- what a rule says

uint64_t cfa_of(const UnwindRule& rule, uint64_t rip) {
  switch (rule.cfa) {
    case CfaRule::kStack:
      return kRsp + rule.cfa_offset;
    case CfaRule::kFrame:
      return kRbp + rule.cfa_offset;
    case CfaRule::kFrameContent:
      return memory_word(kRbp + rule.cfa_offset);
    case CfaRule::kPlt:
      return kRsp + ((rip & 15) >= 11 ? 16 : 8);
    default:
      return 0;
  }
}

Place frame_pointer_of(const UnwindRule& rule, uint64_t cfa) {
  switch (rule.frame) {
    case FrameRule::kSame:
      return {};
    case FrameRule::kAtCfa:
      return memory(cfa + rule.frame_offset);
    case FrameRule::kAtFrame:
      return memory(kRbp + rule.frame_offset);
  }
  return {};
}

Caller caller_by_rule(const UnwindRule& rule, uint64_t rip) {
  if (rule.cfa == CfaRule::kSignal) {
    const uint64_t context = kRsp + rule.cfa_offset;
    return {0, memory(context + 120), memory(context + 160), memory(context + 168)};
  }
  const uint64_t cfa = cfa_of(rule, rip);
  return {cfa, frame_pointer_of(rule, cfa), {Place::kValue, cfa}, memory(cfa - 8)};
}

// --- both

// Whether these rules could say it: then there has to be one.
bool is_plain(const Caller& caller) {
  const bool is_near = caller.cfa - kRsp < 1 << 20 || caller.cfa - kRbp < 1 << 20;
  return is_near && caller.rip == memory(caller.cfa - 8) &&
         caller.rsp == Place{Place::kValue, caller.cfa} && caller.rbp.kind <= Place::kMemory;
}

void compare(const UnwindRule& rule, const Caller& expected, uint64_t rip) {
  if (rule.cfa == CfaRule::kEnd) {
    EXPECT_EQ(expected.rip.kind, Place::kUndefined);
    return;
  }
  if (rule.cfa == CfaRule::kNone) {
    EXPECT_FALSE(is_plain(expected));
    return;
  }
  const Caller caller = caller_by_rule(rule, rip);
  EXPECT_TRUE(rule.cfa == CfaRule::kSignal || caller.cfa == expected.cfa);
  EXPECT_EQ(caller.rip, expected.rip);
  EXPECT_EQ(caller.rsp, expected.rsp);
  if (expected.rbp.kind != Place::kUndefined) {
    EXPECT_EQ(caller.rbp, expected.rbp);
  } else {
    EXPECT_EQ(caller.rbp, Place{});
  }
}

// A module as both see it.
class Module {
 public:
  explicit Module(const std::string& path)
      : file_(open_file(path)),
        elf_(elf_begin(file_.get(), ELF_C_READ, nullptr)),
        cfi_(dwarf_getcfi_elf(elf_.get())) {
    auto tables = compile_unwind_tables(open_file(path));
    if (tables.ok()) tables_ = std::move(*tables);
    const base::ElfFile elf(open_file(path));
    if (const auto place = elf.section(".eh_frame")) {
      section_ = elf.read(place->offset, place->bytes);
      section_address_ = place->address;
    }
  }

  bool is_readable() const {
    return cfi_ != nullptr && !tables_.tables.empty() && !section_.empty();
  }

  void compare_functions() {
    EhFrame functions(section_, section_address_);
    Fde function;
    while (!testing::Test::HasFailure() && functions.next(function)) compare_function(function);
  }
  // Where there is no function, libdw has none either.
  void compare_gaps() {
    for (const auto& [segment, memory] : tables_.tables) {
      uint64_t covered = segment.address;
      for (const auto& [begin, end] : sorted_functions()) {
        if (begin > covered) compare_gap(covered, begin);
        covered = std::max(covered, end);
      }
    }
  }
  uint64_t bytes() const { return bytes_; }
  uint64_t bytes_without_rule() const { return bytes_without_rule_; }

 private:
  struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
  };
  struct EndCfi {
    void operator()(Dwarf_CFI* cfi) const { dwarf_cfi_end(cfi); }
  };

  static base::Descriptor open_file(const std::string& path) {
    elf_version(EV_CURRENT);
    return base::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  }

  std::vector<std::pair<uint64_t, uint64_t>> sorted_functions() const {
    EhFrame functions(section_, section_address_);
    std::vector<std::pair<uint64_t, uint64_t>> result;
    Fde function;
    while (functions.next(function)) result.emplace_back(function.begin, function.end);
    std::ranges::sort(result);
    return result;
  }

  Frame libdw_frame(uint64_t address) const {
    Dwarf_Frame* frame = nullptr;
    if (dwarf_cfi_addrframe(cfi_.get(), address, &frame) != 0) frame = nullptr;
    return Frame(frame);
  }

  UnwindRule rule(uint64_t address) const {
    for (const CompiledTable& table : tables_.tables) {
      const uint64_t offset = address - table.segment.address;
      if (offset < table.segment.bytes) return find_rule(table.table(), offset);
    }
    ADD_FAILURE() << "no code at " << address;
    return {};
  }

  void compare_function(const Fde& function) {
    uint64_t address = function.begin;
    while (address < function.end && !testing::Test::HasFailure()) {
      const Frame frame = libdw_frame(address);
      ASSERT_TRUE(frame) << std::hex << address;
      Dwarf_Addr begin = 0, end = 0;
      bool is_signal = false;
      dwarf_frame_info(frame.get(), &begin, &end, &is_signal);
      ASSERT_GT(end, address);
      for (const uint64_t rip : {address, address + (end - address) / 2, end - 1}) {
        SCOPED_TRACE(testing::Message() << std::hex << rip);
        compare(rule(rip), caller_by_libdw(frame.get(), rip), rip);
      }
      bytes_ += end - address;
      if (rule(address).cfa == CfaRule::kNone) bytes_without_rule_ += end - address;
      address = end;
    }
  }

  void compare_gap(uint64_t begin, uint64_t end) const {
    for (const uint64_t address : {begin, end - 1}) {
      EXPECT_FALSE(libdw_frame(address)) << std::hex << address;
      EXPECT_EQ(rule(address), UnwindRule{}) << std::hex << address;
    }
  }

  base::Descriptor file_;
  std::unique_ptr<Elf, EndElf> elf_;
  std::unique_ptr<Dwarf_CFI, EndCfi> cfi_;
  UnwindTables tables_;
  std::vector<uint8_t> section_;
  uint64_t section_address_ = 0;
  uint64_t bytes_ = 0;  // of functions compared
  uint64_t bytes_without_rule_ = 0;
};

// Some code has no rule: above all that of the loader for calls through the .plt, which counts its
// CFA from rbx.
TEST(UnwindTables, SayWhatLibdwSaysOfEachRow) {
  uint64_t bytes = 0;
  uint64_t bytes_without_rule = 0;
  for (const std::string& path : tests::loaded_modules()) {
    SCOPED_TRACE(path);
    Module module(path);
    ASSERT_TRUE(module.is_readable());
    module.compare_functions();
    bytes += module.bytes();
    bytes_without_rule += module.bytes_without_rule();
  }
  EXPECT_GT(bytes, 0u);
  EXPECT_LT(bytes_without_rule * 200, bytes);
}

TEST(UnwindTables, HaveNoRuleWhereLibdwKnowsNoFunction) {
  for (const std::string& path : tests::loaded_modules()) {
    SCOPED_TRACE(path);
    Module module(path);
    ASSERT_TRUE(module.is_readable());
    module.compare_gaps();
  }
}

TEST(UnwindTables, KnowTheTrampolineOfSignalHandlers) {
  const std::string path = tests::loaded_module("libc.so");
  const auto tables =
      compile_unwind_tables(base::Descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC)));
  ASSERT_TRUE(tables.ok());
  const UnwindTable& table = tables->tables.at(0).table();
  const auto* const rules = reinterpret_cast<const UnwindRule*>(&table + 1);
  EXPECT_EQ(std::count(rules, rules + table.rules, UnwindRule{CfaRule::kSignal}), 1);
}

}  // namespace
}  // namespace heaptape::recorder
