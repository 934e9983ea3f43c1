#include "recorder/unwind/eh_frame.h"

#include <algorithm>
#include <array>

namespace heaptape::recorder {
namespace {

constexpr uint32_t kWideLength = 0xffffffff;  // the length follows in 64 bits
constexpr uint64_t kCodeFactorLimit = 1 << 16;

// Reads the number of the return address register, encoded according to `version`.
bool is_known_return_address(DwarfCursor& entry, uint8_t version) {
  const uint64_t number = version == 1 ? entry.byte() : entry.uleb();
  return number == kDwarfReturnAddress;
}

// The letters of an augmentation, up to the null byte.
struct Augmentation {
  static constexpr size_t kMostLetters = 8;
  std::array<char, kMostLetters> letters = {};
  size_t count = 0;
};

std::optional<Augmentation> read_augmentation(DwarfCursor& entry) {
  Augmentation result;
  while (const uint8_t letter = entry.byte()) {
    if (result.count == Augmentation::kMostLetters) return std::nullopt;
    result.letters[result.count++] = static_cast<char>(letter);
  }
  return result;
}

// Reads the data of the letters after 'z'.
bool read_augmentation_data(const Augmentation& augmentation, DwarfCursor data, CfaTerms& terms) {
  for (size_t i = 1; i < augmentation.count; ++i) {
    switch (augmentation.letters[i]) {
      case 'R':
        terms.pointer_encoding = data.byte();
        break;
      case 'P':
        data.skip_pointer(data.byte());
        break;  // the exception handler
      case 'L':
        data.byte();
        break;  // how its data are encoded
      case 'S':
        terms.is_signal = true;
        break;
      case 'B':
        break;  // signed return addresses, of another machine
      default:
        return false;
    }
  }
  return data.ok();
}

// Versions 1 (used by compilers), 3 and 4; `has_augmentation` is true once it is known.
std::optional<CfaTerms> read_terms(DwarfCursor entry, bool& has_augmentation, CfaProgram& program) {
  CfaTerms terms;
  const uint8_t version = entry.byte();
  if (version != 1 && version != 3 && version != 4) return std::nullopt;
  const auto augmentation = read_augmentation(entry);
  if (!augmentation) return std::nullopt;
  if (version == 4) entry.skip(2);  // the sizes of addresses and segment selectors
  terms.code_factor = entry.uleb();
  terms.data_factor = entry.sleb();
  if (terms.code_factor >= kCodeFactorLimit) return std::nullopt;
  if (!is_known_return_address(entry, version)) return std::nullopt;
  has_augmentation = augmentation->count > 0;
  if (has_augmentation) {
    if (augmentation->letters[0] != 'z') return std::nullopt;
    const DwarfCursor data = entry.part(entry.uleb());
    if (!read_augmentation_data(*augmentation, data, terms)) return std::nullopt;
  }
  if (!entry.ok() || !program.run_initial(terms, entry)) return std::nullopt;
  return terms;
}

}  // namespace

std::span<const uint8_t> up_to_mark(std::span<const uint8_t> bytes) {
  DwarfCursor cursor(bytes, 0);
  while (!cursor.done()) {
    uint64_t length = cursor.number<uint32_t>();
    if (length == 0) break;
    if (length == kWideLength) length = cursor.number<uint64_t>();
    cursor.skip(length);
  }
  return bytes.first(bytes.size() - cursor.left());
}

EhFrame::EhFrame(std::span<const uint8_t> bytes, uint64_t address)
    : cursor_(bytes, address), bytes_(bytes.size()) {}

bool EhFrame::next(Fde& fde) {
  while (!cursor_.done()) {
    const uint64_t offset = bytes_ - cursor_.left();
    uint64_t length = cursor_.number<uint32_t>();
    // An end mark: sections linked after crtend.o follow.
    if (length == 0 && cursor_.ok()) continue;
    const bool is_wide = length == kWideLength;
    if (is_wide) length = cursor_.number<uint64_t>();
    DwarfCursor entry = cursor_.part(length);
    const uint64_t id_offset = bytes_ - cursor_.left() - entry.left();
    const uint64_t id = is_wide ? entry.number<uint64_t>() : entry.number<uint32_t>();
    if (entry.ok() && cursor_.ok() && id == 0) {
      read_cie(entry, offset);
    } else if (cursor_.ok() && read_fde(entry, id_offset - id, fde)) {
      return true;
    } else {
      ++unreadable_;
    }
  }
  return false;
}

void EhFrame::read_cie(DwarfCursor entry, uint64_t offset) {
  if (cies_.size() == kMostCies) return;
  Cie& cie = cies_.emplace_back();
  cie.offset = offset;
  cie.terms = read_terms(entry, cie.has_augmentation, program_);
}

// A CIE precedes its FDEs, at a positive distance, so it has been read.
const EhFrame::Cie* EhFrame::find_cie(uint64_t offset) {
  if (last_cie_ < cies_.size() && cies_[last_cie_].offset == offset) return &cies_[last_cie_];
  const auto found = std::ranges::lower_bound(cies_, offset, {}, &Cie::offset);
  if (found == cies_.end() || found->offset != offset) return nullptr;
  last_cie_ = static_cast<size_t>(found - cies_.begin());
  return &*found;
}

bool EhFrame::read_fde(DwarfCursor entry, uint64_t cie_offset, Fde& fde) {
  const Cie* const cie = find_cie(cie_offset);
  if (cie == nullptr || !cie->terms) return false;
  const uint8_t encoding = cie->terms->pointer_encoding;
  fde.terms = &*cie->terms;
  fde.begin = entry.pointer(encoding);
  const uint64_t code_bytes = entry.pointer(encoding & kPointerFormatMask);
  if (cie->has_augmentation) entry.skip(entry.uleb());
  fde.instructions = entry;
  return entry.ok() && !__builtin_add_overflow(fde.begin, code_bytes, &fde.end);
}

}  // namespace heaptape::recorder
