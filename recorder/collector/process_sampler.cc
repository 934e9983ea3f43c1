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

// A line of /proc/PID/maps: "begin-end permissions offset device inode   path".
struct MapsLine {
  base::AddressRange range;
  std::string_view permissions;
  uint64_t offset = 0;
  std::string_view device;
  std::string_view inode;
  std::string_view path;  // to the end of the line
};

std::optional<MapsLine> parse_maps_line(std::string_view line) {
  MapsLine parsed;
  parsed.range.begin = take_number(line, 16);
  if (line.empty()) return std::nullopt;
  line.remove_prefix(1);
  parsed.range.end = take_number(line, 16);
  if (parsed.range.end <= parsed.range.begin) return std::nullopt;
  parsed.permissions = take_field(line);
  std::string_view offset = take_field(line);
  parsed.offset = take_number(offset, 16);
  parsed.device = take_field(line);
  parsed.inode = take_field(line);
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  parsed.path = line;
  return parsed;
}

bool is_writable_anonymous(const MapsLine& line) {
  const std::string_view name = line.path;
  return line.permissions.starts_with("rw") && line.inode == "0" &&
         (name.empty() || name == "[heap]" || name.starts_with("[anon:"));
}

bool is_executable(const MapsLine& line) {
  return line.permissions.size() > 2 && line.permissions[2] == 'x';
}

// Of a file, or the kernel's. Files that were never on a disk are among them.
bool is_named(const MapsLine& line) {
  return line.path.starts_with('/') || line.path == "[vdso]" || line.path == "[vsyscall]";
}

// Gathers what parse_code() returns.
class CodeParser {
 public:
  void add(const MapsLine& line) {
    if (is_named(line)) {
      if (is_executable(line) && line.path != "[vsyscall]") add_file(line);
    } else {
      add_made(line);
    }
  }
  std::vector<MappedCode> take() { return std::move(code_); }

 private:
  void add_file(const MapsLine& line) {
    constexpr std::string_view kDeleted = " (deleted)";
    std::string_view path = line.path;
    const bool is_deleted = path.ends_with(kDeleted);
    if (is_deleted) path.remove_suffix(kDeleted.size());
    code_.push_back({{0, line.range, line.offset, std::string(path), ""},
                     std::string(line.device) + " " + std::string(line.inode),
                     is_deleted});
  }
  void add_made(const MapsLine& line) {
    if (line.range.begin != end_) begin_ = line.range.begin;
    end_ = line.range.end;
    if (!is_executable(line)) return;
    const bool goes_on =
        !code_.empty() && code_.back().is_made() && code_.back().mapping.range.begin >= begin_;
    if (goes_on) {
      code_.back().mapping.range.end = line.range.end;
    } else {
      code_.push_back({{0, line.range, 0, "", ""}, "", false});
    }
  }

  std::vector<MappedCode> code_;
  uint64_t begin_ = 0;  // mappings of no file lie without a gap from here
  uint64_t end_ = 0;    // up to here
};

// Calls visit(line) for each line that makes sense.
template <typename Visit>
void for_each_line(std::string_view maps, Visit visit) {
  while (!maps.empty()) {
    const std::string_view line = maps.substr(0, maps.find('\n'));
    maps.remove_prefix(std::min(line.size() + 1, maps.size()));
    if (const auto parsed = parse_maps_line(line)) visit(*parsed);
  }
}

}  // namespace

std::vector<base::AddressRange> parse_writable_anonymous(std::string_view maps) {
  std::vector<base::AddressRange> ranges;
  for_each_line(maps, [&ranges](const MapsLine& line) {
    if (is_writable_anonymous(line)) ranges.push_back(line.range);
  });
  return ranges;
}

std::vector<MappedCode> parse_code(std::string_view maps) {
  CodeParser parser;
  for_each_line(maps, [&parser](const MapsLine& line) { parser.add(line); });
  return parser.take();
}

std::optional<ProcTexts> read_proc_texts(uint32_t pid, CodeTables* code) {
  auto statm = base::read_file(proc_path(pid, "statm"), kMaxProcFileBytes);
  auto maps = base::read_file(proc_path(pid, "maps"), kMaxProcFileBytes);
  if (!statm.ok() || !maps.ok() || maps->empty()) return std::nullopt;
  ProcTexts texts{std::move(*statm), std::move(*maps), {}};
  if (code != nullptr) texts.code = code->read(pid, texts.maps);
  return texts;
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

ProcessIdentity identify_process(uint32_t pid, CodeTables* code) {
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
  if (code == nullptr) return identity;
  if (auto map = PerfMap::of_process(pid)) identity.perf_maps = {std::move(map)};
  const auto maps = base::read_file(proc_path(pid, "maps"), kMaxProcFileBytes);
  if (maps.ok()) identity.code = code->read_in_haste(pid, *maps);
  return identity;
}

}  // namespace heaptape::recorder
