#include "recorder/collector/perf_map.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "base/descriptor_limit.h"
#include "base/output_file.h"

namespace heaptape::recorder {
namespace {

constexpr size_t kPieceBytes = 64 << 10;
constexpr size_t kTailBytes = 64;
constexpr uint64_t kMostStatusBytes = 64 << 10;
constexpr uint32_t kDescriptorsForFiles = 32;

// A number in hexadecimal and the blank behind it; false: there is none.
bool take_number(std::string_view& line, uint64_t& value) {
  if (line.starts_with("0x")) line.remove_prefix(2);
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), value, 16);
  const auto length = static_cast<size_t>(end - line.data());
  if (error != std::errc() || length == line.size() || line[length] != ' ') return false;
  line.remove_prefix(length + 1);
  return true;
}

// What the process calls itself, from /proc/PID/status: the last number of "NSpid: 4711 1".
uint32_t pid_inside(const std::string& process, uint32_t pid) {
  const auto status = base::read_file(process + "/status", kMostStatusBytes);
  if (!status.ok()) return pid;
  std::string_view line = *status;
  const size_t at = line.find("\nNSpid:");
  if (at == std::string_view::npos) return pid;
  line = line.substr(at + 1, line.find('\n', at + 1) - at - 1);
  const size_t blank = line.find_last_of("\t ");
  if (blank == std::string_view::npos) return pid;
  std::from_chars(line.data() + blank + 1, line.data() + line.size(), pid);
  return pid;
}

// Of a process that may have run for a moment until we saw it, by the clock of file systems, which
// is some milliseconds late.
int64_t begin_of_new_process() {
  constexpr int64_t kSlackNs = 2'000'000'000;
  return static_cast<int64_t>(base::clock_ns(CLOCK_REALTIME)) - kSlackNs;
}

// A line of the file, without its end; nothing: it makes no sense.
std::optional<PerfMap::Name> parse_line(std::string_view line) {
  uint64_t begin = 0;
  uint64_t bytes = 0;
  if (!take_number(line, begin) || !take_number(line, bytes)) return std::nullopt;
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || bytes == 0 || begin >= base::kAddressLimit ||
      bytes > base::kAddressLimit - begin) {
    return std::nullopt;
  }
  return PerfMap::Name{
      0, {begin, begin + bytes}, std::string(line.substr(0, PerfMap::kMostNameBytes))};
}

}  // namespace

std::shared_ptr<PerfMap> PerfMap::of_process(uint32_t pid) {
  const std::string process = "/proc/" + std::to_string(pid);
  struct stat info{};
  if (stat(process.c_str(), &info) != 0) return nullptr;
  constexpr int kFlags = O_PATH | O_DIRECTORY | O_CLOEXEC;
  base::Descriptor folder(open((process + "/root/tmp").c_str(), kFlags));
  if (!folder) folder.reset(open("/tmp", kFlags));
  if (!folder || base::is_among_last(folder.get(), kDescriptorsForFiles)) return nullptr;
  auto map =
      std::make_shared<PerfMap>(std::make_shared<const base::Descriptor>(std::move(folder)),
                                info.st_uid, pid_inside(process, pid), begin_of_new_process());
  map->skip_old();
  return map;
}

std::shared_ptr<PerfMap> PerfMap::of_child(uint32_t pid) const {
  return std::make_shared<PerfMap>(folder_, owner_, pid, begin_of_new_process());
}

// By its name first: to open a pipe could wait, and to open a device could act on it.
PerfMap::Found PerfMap::open_file() const {
  const std::string name = "perf-" + std::to_string(pid_) + ".map";
  const base::Descriptor named(
      openat(folder_->get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
  struct stat info{};
  if (!named || fstat(named.get(), &info) != 0) return {};
  if (!S_ISREG(info.st_mode) || info.st_uid != owner_) return {};
  const std::string link = "/proc/self/fd/" + std::to_string(named.get());
  Found found;
  found.file.reset(open(link.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  found.progress.device = info.st_dev;
  found.progress.inode = info.st_ino;
  found.bytes = static_cast<uint64_t>(info.st_size);
  found.written_ns = int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + info.st_mtim.tv_nsec;
  return found;
}

// Whether the file is the one that was read, and still begins as it did.
bool PerfMap::goes_on(const Found& found) const {
  if (found.progress.device != progress_.device || found.progress.inode != progress_.inode) {
    return false;
  }
  char tail[kTailBytes];
  const size_t bytes = progress_.tail.size();
  const ssize_t got =
      pread(found.file.get(), tail, bytes, static_cast<off_t>(progress_.offset - bytes));
  return got == static_cast<ssize_t>(bytes) && progress_.tail == std::string_view(tail, bytes);
}

void PerfMap::skip_old() {
  const std::lock_guard reading(read_mutex_);
  Found found = open_file();
  if (!found.file || found.written_ns >= begin_ns_ || found.bytes == 0) return;
  char tail[kTailBytes];
  const uint64_t bytes = std::min<uint64_t>(found.bytes, kTailBytes);
  const ssize_t got = pread(found.file.get(), tail, bytes, static_cast<off_t>(found.bytes - bytes));
  if (got != static_cast<ssize_t>(bytes)) return;
  progress_ = std::move(found.progress);
  progress_.offset = found.bytes;
  progress_.tail.assign(tail, bytes);
  progress_.is_inside = !progress_.tail.ends_with('\n');
}

size_t PerfMap::refresh() {
  const std::lock_guard reading(read_mutex_);
  const Found found = open_file();
  if (found.file && found.written_ns >= begin_ns_) read_on(found);
  return names();
}

size_t PerfMap::names() const {
  const std::lock_guard lock(mutex_);
  return names_.size();
}

void PerfMap::read_on(const Found& found) {
  if (!goes_on(found)) progress_ = found.progress;
  std::string piece(kPieceBytes, 0);
  while (bytes_ < kMostBytes && names() < kMostNames) {
    const ssize_t got =
        pread(found.file.get(), piece.data(), kPieceBytes, static_cast<off_t>(progress_.offset));
    if (got <= 0) return;
    const std::string_view text(piece.data(), static_cast<size_t>(got));
    const size_t last = text.rfind('\n');
    const bool has_line = last != std::string_view::npos;
    if (!has_line && text.size() < kPieceBytes) return;  // its line is not whole yet
    const std::string_view whole = has_line ? text.substr(0, last + 1) : text;
    bytes_ += whole.size();
    progress_.offset += whole.size();
    progress_.tail = whole.substr(whole.size() - std::min(whole.size(), kTailBytes));
    if (has_line) take(whole);
    progress_.is_inside = !has_line;
  }
}

// Whole lines; but for the first, whose beginning may have been too long ago.
void PerfMap::take(std::string_view text) {
  if (std::exchange(progress_.is_inside, false)) text.remove_prefix(text.find('\n') + 1);
  std::vector<Name> read;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (auto name = parse_line(text.substr(0, end))) read.push_back(std::move(*name));
    text.remove_prefix(end + 1);
  }
  const std::lock_guard lock(mutex_);
  for (Name& name : read) {
    if (names_.size() == kMostNames) return;
    name.index = static_cast<uint32_t>(names_.size());
    by_address_.assign(name.code, name.index);
    names_.push_back(std::move(name));
  }
}

std::optional<PerfMap::Name> PerfMap::find(uint64_t address) const {
  const std::lock_guard lock(mutex_);
  const uint32_t* const index = by_address_.find(address);
  if (index == nullptr) return std::nullopt;
  return names_[*index];
}

PerfMaps perf_maps_of_child(const PerfMaps& parent, uint32_t pid) {
  if (parent.empty()) return {};
  PerfMaps maps = {parent.front()->of_child(pid)};
  const auto nearest = static_cast<ptrdiff_t>(std::min(parent.size(), kMostPerfMaps - 1));
  maps.insert(maps.end(), parent.begin(), parent.begin() + nearest);
  return maps;
}

}  // namespace heaptape::recorder
