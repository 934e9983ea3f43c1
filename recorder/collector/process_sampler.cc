#include "recorder/collector/process_sampler.h"

#include <unistd.h>

#include <charconv>
#include <climits>
#include <cstdlib>
#include <cstring>

#include "base/address/address_range.h"
#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

constexpr uint64_t kMaxProcFileBytes = 64 << 20;

std::string proc_path(uint32_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

// Takes a number off the front of `text`; 0 when there is none.
uint64_t take_number(std::string_view& text, int base) {
  uint64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value, base).ptr;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return value;
}

std::string_view take_field(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::string_view field = text.substr(0, text.find(' '));
  text.remove_prefix(field.size());
  return field;
}

// One line of maps: "begin-end perms offset device inode   path".
std::optional<base::AddressRange> parse_line(std::string_view line) {
  base::AddressRange range;
  range.begin = take_number(line, 16);
  if (line.empty()) return std::nullopt;
  line.remove_prefix(1);
  range.end = take_number(line, 16);
  const std::string_view permissions = take_field(line);
  take_field(line);  // offset
  take_field(line);  // device
  const std::string_view inode = take_field(line);
  const std::string_view path = take_field(line);
  const bool anonymous =
      inode == "0" && (path.empty() || path == "[heap]" || path.starts_with("[anon:"));
  if (!permissions.starts_with("rw") || !anonymous || range.end <= range.begin) return std::nullopt;
  return range;
}

}  // namespace

std::vector<base::AddressRange> parse_writable_anonymous(std::string_view maps) {
  std::vector<base::AddressRange> ranges;
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (const auto range = parse_line(line)) ranges.push_back(*range);
  }
  return ranges;
}

std::optional<ProcTexts> read_proc_texts(uint32_t pid) {
  auto statm = base::read_file(proc_path(pid, "statm"), kMaxProcFileBytes);
  auto maps = base::read_file(proc_path(pid, "maps"), kMaxProcFileBytes);
  if (!statm.ok() || !maps.ok() || maps->empty()) return std::nullopt;
  return ProcTexts{std::move(*statm), std::move(*maps)};
}

schema::ProcessSample make_sample(const ProcTexts& texts, const LiveSet& live,
                                  MappedChunks mapped_chunks) {
  // "size resident shared ...", where shared is files and shared memory: the rest is anonymous.
  std::string_view fields = texts.statm;
  take_field(fields);
  std::string_view resident = take_field(fields);
  std::string_view shared = take_field(fields);
  const uint64_t resident_pages = take_number(resident, 10);
  const uint64_t shared_pages = take_number(shared, 10);
  schema::ProcessSample sample;
  if (resident_pages > shared_pages) {
    sample.resident_bytes =
        (resident_pages - shared_pages) * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  }
  for (const auto& range : parse_writable_anonymous(texts.maps)) {
    if (live.any_in(range, mapped_chunks)) sample.regions.push_back(range);
  }
  return sample;
}

ProcessIdentity identify_process(uint32_t pid) {
  ProcessIdentity identity;
  identity.pid = pid;
  char executable[PATH_MAX];
  const ssize_t length = readlink(proc_path(pid, "exe").c_str(), executable, sizeof executable);
  if (length > 0) identity.executable.assign(executable, static_cast<size_t>(length));
  if (const auto words = base::read_file(proc_path(pid, "cmdline"), kMaxProcFileBytes);
      words.ok()) {
    std::string_view rest = *words;
    while (!rest.empty()) {
      const std::string_view word = rest.substr(0, rest.find('\0'));
      identity.command_line.emplace_back(word);
      rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    }
  }
  // "pid (name) state ppid ...": the name may hold anything, so start after the last parenthesis.
  if (const auto stat = base::read_file(proc_path(pid, "stat"), kMaxProcFileBytes); stat.ok()) {
    std::string_view rest = *stat;
    rest.remove_prefix(std::min(rest.rfind(')') + 1, rest.size()));
    take_field(rest);
    std::string_view parent = take_field(rest);
    identity.parent_pid = static_cast<uint32_t>(take_number(parent, 10));
  }
  return identity;
}

}  // namespace heaptape::recorder
