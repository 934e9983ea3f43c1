#include "recorder/interposer/machine_code.h"

namespace heaptape::recorder {
namespace {

constexpr uint8_t kWord = 8;
constexpr int32_t kMostFrameBytes = 1 << 20;

// Reads the bytes of instructions; past the end there are zeros.
class Code {
 public:
  explicit Code(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  uint8_t peek(size_t ahead = 0) const {
    return at_ + ahead < bytes_.size() ? bytes_[at_ + ahead] : 0;
  }
  uint8_t take() {
    const uint8_t byte = peek();
    ++at_;
    return byte;
  }
  bool takes(uint8_t first, uint8_t second, uint8_t third) {
    if (peek() != first || peek(1) != second || peek(2) != third) return false;
    at_ += 3;
    return true;
  }
  bool takes(uint8_t byte) {
    if (peek() != byte) return false;
    ++at_;
    return true;
  }

 private:
  std::span<const uint8_t> bytes_;
  size_t at_ = 0;
};

// The bytes that `add $N,%rsp` takes off the stack; 0 if it is another instruction.
int32_t take_addition(Code& code) {
  if (code.takes(0x48, 0x83, 0xc4)) return static_cast<int8_t>(code.take());
  if (!code.takes(0x48, 0x81, 0xc4)) return 0;
  uint32_t bytes = 0;
  for (int i = 0; i < 4; ++i) bytes |= uint32_t{code.take()} << 8 * i;
  return static_cast<int32_t>(bytes);
}

enum class Popped : uint8_t { kNone, kFramePointer, kOther };

Popped take_pop(Code& code) {
  constexpr uint8_t kPopRax = 0x58;
  constexpr uint8_t kPopRsp = 0x5c;
  constexpr uint8_t kPopRbp = 0x5d;
  constexpr uint8_t kNewRegister = 0x41;
  const bool is_new = code.peek() == kNewRegister;
  const uint8_t pop = code.peek(is_new ? 1 : 0);
  if (pop < kPopRax || pop > 0x5f || (pop == kPopRsp && !is_new)) return Popped::kNone;
  if (is_new) code.take();
  code.take();
  return pop == kPopRbp && !is_new ? Popped::kFramePointer : Popped::kOther;
}

// Accepts a prefix without effect: `rep`, `bnd`.
bool take_return(Code& code) {
  constexpr uint8_t kReturn = 0xc3;
  return code.takes(kReturn) || ((code.takes(0xf3) || code.takes(0xf2)) && code.takes(kReturn));
}

}  // namespace

bool read_epilogue(std::span<const uint8_t> bytes, UnwindRule& rule) {
  constexpr uint8_t kLeave = 0xc9;
  Code code(bytes);
  int32_t above = take_addition(code);  // from the stack pointer to the rest of the frame
  if (above < 0 || above > kMostFrameBytes || above % kWord != 0) return false;
  if (code.takes(kLeave)) {
    rule = {CfaRule::kCodeFrame, FrameRule::kAtCfa, -2 * kWord, 2 * kWord};
    return take_return(code);
  }
  int32_t frame = -1;
  for (Popped popped = take_pop(code); popped != Popped::kNone; popped = take_pop(code)) {
    if (popped == Popped::kFramePointer) frame = above;
    above += kWord;
  }
  above += kWord;  // the return address
  rule = {CfaRule::kCodeStack, FrameRule::kSame, 0, above};
  if (frame >= 0) {
    rule.frame = FrameRule::kAtCfa;
    rule.frame_offset = static_cast<int16_t>(frame - above);
  }
  return take_return(code);
}

bool has_prologue(std::span<const uint8_t> code) {
  for (; !code.empty(); code = code.subspan(1)) {
    if (begins_with_prologue(code)) return true;
  }
  return false;
}

// `call OFFSET`, or `call` of a register or of a word in memory, whose last bytes say what follows
// them (Intel SDM 2, 2.1.5).
bool ends_in_call(std::span<const uint8_t> code) {
  constexpr uint8_t kCall = 0xe8;
  constexpr uint8_t kGroup = 0xff;  // with 2 in the middle of the next byte: a call
  const size_t end = code.size();
  if (end >= 5 && code[end - 5] == kCall) return true;
  for (size_t bytes = 2; bytes <= kMostCallBytes && bytes <= end; ++bytes) {
    if (code[end - bytes] != kGroup) continue;
    const uint8_t what = code[end - bytes + 1];
    if ((what >> 3 & 7) != 2) continue;
    const int mode = what >> 6;
    const int base = what & 7;
    const bool has_scale = mode != 3 && base == 4;
    if (has_scale && bytes == 2) continue;
    const int last_base = has_scale ? code[end - bytes + 2] & 7 : base;
    size_t length = has_scale ? 3 : 2;
    if (mode == 1) length += 1;
    if (mode == 2 || (mode == 0 && last_base == 5)) length += 4;
    if (length == bytes) return true;
  }
  return false;
}

}  // namespace heaptape::recorder
