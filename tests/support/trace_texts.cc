#include "tests/support/trace_texts.h"

#include <map>

#include "base/check.h"
#include "base/number_text.h"

namespace heaptape::tests {
namespace {

using base::format_text;
using schema::Event;
using schema::OpKind;

OpKind kind_of(const Event& event) {
  return schema::op_info(event.op).kind;
}

// Numbers a block by the first free place, as munged and processed traces do.
class Numbers {
 public:
  uint64_t take(uint64_t address) {
    uint64_t number = next_;
    if (free_.empty()) {
      ++next_;
    } else {
      number = free_.back();
      free_.pop_back();
    }
    return numbers_[address] = number;
  }
  uint64_t drop(uint64_t address) {
    const uint64_t number = numbers_.at(address);
    numbers_.erase(address);
    free_.push_back(number);
    return number;
  }

 private:
  uint64_t next_ = 0;
  std::vector<uint64_t> free_;
  std::map<uint64_t, uint64_t> numbers_;
};

std::string text_of(const std::string& format, const Event& event) {
  const auto size = static_cast<unsigned long long>(event.size);
  const auto at = static_cast<unsigned long long>(event.address);
  const auto old = static_cast<unsigned long long>(event.freed_address);
  const unsigned thread = 100 + event.thread;
  const bool is_resize = kind_of(event) == OpKind::kResize;
  const bool is_release = kind_of(event) == OpKind::kRelease;
  if (format == "android") {
    if (is_release) return format_text("%u: free 0x%llx\n", thread, old);
    if (is_resize) return format_text("%u: realloc 0x%llx 0x%llx %llu\n", thread, at, old, size);
    return format_text("%u: malloc 0x%llx %llu\n", thread, at, size);
  }
  if (format == "logalloc") {
    if (is_release) return format_text("7 %u free(0x%llx)\n", thread, old);
    if (is_resize) return format_text("7 %u realloc(0x%llx,%llu)=0x%llx\n", thread, old, size, at);
    return format_text("7 %u malloc(%llu)=0x%llx\n", thread, size, at);
  }
  if (format == "mtrace") {
    if (is_release) return format_text("@ ./a:[0x4] - 0x%llx\n", old);
    if (is_resize) return format_text("@ [0x4] < 0x%llx\n@ [0x4] > 0x%llx 0x%llx\n", old, at, size);
    return format_text("@ ./a:(f+0x1)[0x4] + 0x%llx 0x%llx\n", at, size);
  }
  // heaptrack
  if (is_release) return format_text("- %llx\n", old);
  const std::string allocation = format_text("+ %llx 1 %llx\n", size, at);
  return is_resize ? format_text("- %llx\n", old) + allocation : allocation;
}

template <typename Integer>
void put(std::string& bytes, Integer value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

std::string numbered_text(const std::string& format, const Event& event, Numbers& numbers) {
  const uint64_t old = event.freed_address == 0 ? 0 : numbers.drop(event.freed_address);
  const uint64_t number = event.address == 0 ? 0 : numbers.take(event.address);
  const bool is_resize = kind_of(event) == OpKind::kResize;
  const bool is_release = kind_of(event) == OpKind::kRelease;
  HEAPTAPE_CHECK(!is_resize || number == old);  // the place freed last
  const char letter = is_release ? 'f' : is_resize ? 'r' : 'a';
  std::string bytes;
  if (format == "malloclab") {
    bytes = letter + (" " + std::to_string(is_release ? old : number));
    return bytes + (is_release ? "\n" : " " + std::to_string(event.size) + "\n");
  }
  if (format == "mallocbench") {
    put(bytes, int32_t{is_release ? 1 : is_resize ? 2 : 0});
    put(bytes, static_cast<uint16_t>(event.thread));
    put(bytes, uint16_t{0});
    put(bytes, is_release ? old : number);
    put(bytes, event.size);
    return bytes;
  }
  put(bytes, uint64_t{5});  // trace-replay: SWITCH_THREAD
  put(bytes, uint64_t{event.thread});
  put(bytes, uint64_t{0});
  put(bytes, (is_release ? old : number) << 8 | (is_release ? 1 : is_resize ? 4 : 0));
  put(bytes, is_resize ? number : event.size);
  put(bytes, is_resize ? event.size : uint64_t{0});
  return bytes;
}

std::string mtrace2_record(uint32_t type, const Event& event) {
  std::string bytes;
  put(bytes, static_cast<int32_t>(event.thread));
  put(bytes, type);
  for (const uint64_t field : {event.freed_address, event.address, event.size}) put(bytes, field);
  return bytes + std::string(32, '\0');
}

void put_varint(std::string& bytes, uint64_t value) {
  for (; value >= 128; value >>= 7) bytes += static_cast<char>(value | 128);
  bytes += static_cast<char>(value);
}

std::string protobuf_message(uint32_t field, const std::string& body) {
  std::string bytes;
  put_varint(bytes, field << 3 | 2);
  put_varint(bytes, body.size());
  return bytes + body;
}

// malloc-bench: blocks have numbers, here their addresses.
std::string protobuf_line(const Event& event) {
  const bool is_resize = kind_of(event) == OpKind::kResize;
  const bool is_release = kind_of(event) == OpKind::kRelease;
  std::vector<uint64_t> values{event.address, event.size};
  if (is_resize) values = {event.address, event.freed_address, event.size};
  if (is_release) values = {event.freed_address};
  std::string body;
  for (size_t i = 0; i < values.size(); ++i) {
    put_varint(body, (i + 1) << 3);
    put_varint(body, values[i]);
  }
  return protobuf_message(1, protobuf_message(is_release ? 2 : is_resize ? 3 : 1, body));
}

// A record for each block, at its free; unfreed blocks come after the last event.
std::string malt_text(const std::vector<Event>& events) {
  std::string bytes;
  std::map<uint64_t, std::pair<uint64_t, uint64_t>> live;  // by address: size, birth
  const auto end_block = [&](uint64_t address, uint64_t now) {
    const auto [size, born] = live.at(address);
    for (const uint64_t field : {uint64_t{1}, address, size, born, now - born}) put(bytes, field);
    live.erase(address);
  };
  uint64_t now = 0;
  for (const Event& event : events) {
    now += 2;
    if (event.freed_address != 0) end_block(event.freed_address, now);
    if (event.address != 0) live[event.address] = {event.size, now + 1};
  }
  while (!live.empty()) end_block(live.begin()->first, now + 2);
  return bytes;
}

std::string wee_alloc_text(const std::vector<Event>& events) {
  std::string text;
  std::map<uint64_t, uint64_t> numbers;
  uint64_t allocations = 0;
  for (const Event& event : events) {
    const uint64_t old = event.freed_address == 0 ? 0 : numbers.at(event.freed_address);
    if (event.address != 0) {
      text += "Alloc(" + std::to_string(event.size) + "),\n";
      numbers[event.address] = allocations++;
    }
    if (event.freed_address != 0) text += "Free(" + std::to_string(old) + "),\n";
  }
  return text;
}

}  // namespace

std::string trace_text(const std::string& format, const std::vector<Event>& events) {
  if (format == "wee_alloc") return wee_alloc_text(events);
  if (format == "malt") return malt_text(events);
  const bool is_numbered =
      format == "malloclab" || format == "mallocbench" || format == "trace-replay";
  Numbers numbers;
  std::string text = format == "heaptrack"   ? "v 10400 3\nX ./a\nI 1000 100\n"
                     : format == "malloclab" ? "20000\n1\n1\n1\n"
                     : format == "mtrace"    ? "= Start\n"
                                             : "";
  if (format == "mtrace2") text = mtrace2_record(255, {.size = 8, .freed_address = 0x1234});
  for (const Event& event : events) {
    if (format == "malloc-bench") {
      text += protobuf_line(event);
    } else if (format == "mtrace2") {
      const OpKind kind = kind_of(event);
      text += mtrace2_record(kind == OpKind::kRelease ? 3 : kind == OpKind::kResize ? 4 : 1, event);
    } else {
      text += is_numbered ? numbered_text(format, event, numbers) : text_of(format, event);
    }
  }
  return text;
}

}  // namespace heaptape::tests
