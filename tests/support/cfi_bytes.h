// Writes call frame information by hand, for tests.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace heaptape::tests {

using Bytes = std::vector<uint8_t>;

inline Bytes operator+(Bytes a, const Bytes& b) {
  for (const uint8_t byte : b) a.push_back(byte);
  return a;
}

// Little-endian.
template <typename T>
Bytes number(T value) {
  Bytes bytes;
  for (size_t i = 0; i < sizeof value; ++i) {
    bytes.push_back(static_cast<uint8_t>(static_cast<uint64_t>(value) >> (8 * i)));
  }
  return bytes;
}

inline Bytes text(const std::string& letters) {
  return Bytes(letters.begin(), letters.end()) + Bytes{0};
}

inline constexpr uint8_t kPcRelative4 = 0x1b;  // as compilers write it: pcrel, sdata4
// CFA: rsp + 8; return address at CFA - 8.
inline const Bytes kOrdinaryStart = {0x0c, 7, 8, 0x90, 1};

// A section .eh_frame, entry by entry.
class CfiSection {
 public:
  explicit CfiSection(uint64_t address) : address_(address) {}

  const Bytes& bytes() const { return bytes_; }
  uint64_t address() const { return address_; }

  // An entry with any content, after its length.
  void add(const Bytes& content) {
    bytes_ = std::move(bytes_) + number(static_cast<uint32_t>(content.size())) + content;
  }
  void add_mark() { bytes_ = std::move(bytes_) + number(uint32_t{0}); }
  // Version 1. Returns where it begins.
  uint32_t add_cie(const std::string& augmentation, const Bytes& data,
                   const Bytes& instructions = kOrdinaryStart) {
    const auto place = static_cast<uint32_t>(bytes_.size());
    Bytes content = number(uint32_t{0}) + Bytes{1} + text(augmentation) + Bytes{1, 0x78, 16};
    if (!augmentation.empty()) content = content + Bytes{static_cast<uint8_t>(data.size())} + data;
    add(content + instructions);
    return place;
  }
  uint32_t add_usual_cie() { return add_cie("zR", {kPcRelative4}); }
  // `pointers`: where the code begins, its length, and everything up to the instructions.
  void add_fde(uint32_t cie, const Bytes& pointers, const Bytes& instructions = {}) {
    const auto distance = static_cast<uint32_t>(bytes_.size()) + 4 - cie;
    add(number(distance) + pointers + instructions);
  }
  // For the usual CIE.
  void add_usual_fde(uint32_t cie, uint64_t code, uint32_t code_bytes,
                     const Bytes& instructions = {}) {
    const auto distance = static_cast<uint32_t>(code - pointer_address());
    add_fde(cie, number(distance) + number(code_bytes) + Bytes{0}, instructions);
  }
  // The address of the first pointer of the next entry.
  uint64_t pointer_address() const { return address_ + bytes_.size() + 8; }

 private:
  uint64_t address_;
  Bytes bytes_;
};

}  // namespace heaptape::tests
