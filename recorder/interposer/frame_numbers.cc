#include "recorder/interposer/frame_numbers.h"

#include <sys/mman.h>

#include "recorder/interposer/attach.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

size_t FrameNumbers::Table::bytes_of(uint32_t places_log2) {
  const size_t places = size_t{1} << places_log2;
  return sizeof(Table) + (places / 2 + 1) * sizeof(Callee) + places * sizeof(Frame);
}

FrameNumbers::Table* FrameNumbers::Table::make(uint32_t places_log2) {
  if (process.quiet.load(std::memory_order_relaxed)) return nullptr;
  const long base = raw_syscall(SYS_mmap, 0, static_cast<long>(bytes_of(places_log2)),
                                PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base < 0) return nullptr;
  auto* const table = reinterpret_cast<Table*>(base);
  table->places_log2 = places_log2;
  return table;
}

// A jump away in between leaves none.
void FrameNumbers::Callee::set(uintptr_t address, uint32_t its_number) {
  number = 0;
  asm volatile("" ::: "memory");
  return_address = address;
  asm volatile("" ::: "memory");
  number = its_number;
}

// The frame's place, or the free one where it belongs.
FrameNumbers::Frame& FrameNumbers::Table::find_place(uint32_t caller, uintptr_t return_address) {
  constexpr uint64_t kGolden = 0x9e3779b97f4a7c15;  // Fibonacci hashing (Knuth, TAOCP 3, 6.4)
  const uint64_t key = return_address + (uint64_t{caller} << 40 | caller);
  const size_t mask = (size_t{1} << places_log2) - 1;
  Frame* const all = places();
  for (size_t at = (key * kGolden) >> (64 - places_log2);; at = (at + 1) & mask) {
    Frame& place = all[at];
    if (place.number == 0) return place;
    if (place.return_address == return_address && place.caller == caller) return place;
  }
}

bool FrameNumbers::make_room() {
  if (table_ != nullptr && count_ < table_->most()) return true;
  if (table_ != nullptr && table_->places_log2 == kMostPlacesLog2) return false;
  Table* const larger = Table::make(table_ == nullptr ? kFirstPlacesLog2 : table_->places_log2 + 1);
  if (larger == nullptr) return false;
  Table* const before = table_;
  if (before != nullptr) {
    for (size_t i = 0; i < size_t{1} << before->places_log2; ++i) {
      const Frame& frame = before->places()[i];
      if (frame.number != 0) larger->find_place(frame.caller, frame.return_address) = frame;
    }
  }
  table_ = larger;
  if (before != nullptr) {
    raw_syscall(SYS_munmap, as_long(before), static_cast<long>(before->bytes()));
  }
  return true;
}

uint32_t FrameNumbers::find(uint32_t caller, uintptr_t return_address) {
  if (table_ == nullptr) return 0;
  Callee& last = table_->callees()[caller];
  if (last.return_address == return_address && last.number != 0) return last.number;
  const uint32_t number = table_->find_place(caller, return_address).number;
  if (number != 0) last.set(return_address, number);
  return number;
}

uint32_t FrameNumbers::add(uint32_t caller, uintptr_t return_address) {
  const uint32_t number = count_ + 1;
  Frame& place = table_->find_place(caller, return_address);
  place.return_address = return_address;
  place.caller = caller;
  asm volatile("" ::: "memory");
  place.number = number;
  table_->callees()[caller].set(return_address, number);
  return count_ = number;
}

void FrameNumbers::clear() {
  Table* const before = table_;
  table_ = nullptr;
  count_ = 0;
  if (before != nullptr) {
    raw_syscall(SYS_munmap, as_long(before), static_cast<long>(before->bytes()));
  }
}

}  // namespace heaptape::recorder
