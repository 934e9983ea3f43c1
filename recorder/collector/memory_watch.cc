#include "recorder/collector/memory_watch.h"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <sstream>
#include <string_view>

#include "base/clock.h"
#include "base/output_file.h"
#include "base/quantity.h"

namespace heaptape::recorder {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMinWaitNs = 10 * base::kMillisecondNs;
constexpr uint64_t kCostFactor = 50;  // a look takes 2 % of the time at most
constexpr uint64_t kSecondNs = 1000 * base::kMillisecondNs;
constexpr uint64_t kMostPauseNs = 3600 * kSecondNs;
constexpr double kFreeBetween = 0.9;
// A limit above that is none, as version 1 says.
constexpr uint64_t kNoLimit = uint64_t{1} << 60;
constexpr uint64_t kMostBytes = 64 << 10;

std::string text_of(const std::string& path) {
  const auto text = base::read_file(path, kMostBytes);
  return text.ok() ? *text : "";
}

// The number that a file consists of; nothing if there is no such file, or it says "max".
std::optional<uint64_t> number_in(const std::string& path) {
  std::string text = text_of(path);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return base::parse_count(text);
}

// The number behind a name, in a file of lines "NAME NUMBER"; 0 if there is none.
uint64_t field_in(const std::string& path, std::string_view wanted) {
  std::istringstream lines(text_of(path));
  std::string name;
  uint64_t value = 0;
  while (lines >> name >> value) {
    if (name == wanted) return value;
  }
  return 0;
}

struct OwnGroup {
  std::string directory;
  std::string root;
  bool is_v2;
};

// cgroups(7): lines "NUMBER:CONTROLLERS:PATH", and for version 2 "0::PATH".
std::vector<OwnGroup> own_groups(const std::string& groups, const std::string& our_groups) {
  std::vector<OwnGroup> own;
  std::istringstream lines(text_of(our_groups));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::string path = line.substr(second + 1);
    if (controllers == ",,") {
      own.push_back({groups + path, groups, true});
    } else if (controllers.find(",memory,") != std::string::npos) {
      own.push_back({groups + "/memory" + path, groups + "/memory", false});
    }
  }
  return own;
}

uint64_t resident_bytes(uint32_t pid) {
  std::istringstream text(text_of("/proc/" + std::to_string(pid) + "/statm"));
  uint64_t pages = 0;
  text >> pages >> pages;
  return pages * static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
}

}  // namespace

base::Result<MemoryWatch> MemoryWatch::open(const FlushAt& at, const std::string& groups,
                                            const std::string& our_groups) {
  MemoryWatch watch(at);
  if (at.share == 0) return watch;
  for (const OwnGroup& own : own_groups(groups, our_groups)) {
    // A container may see its own group as the root, or not at all.
    for (fs::path directory = own.directory;; directory = directory.parent_path()) {
      const Group group{directory, own.is_v2};
      if (limit_of(group)) watch.groups_.push_back(group);
      if (directory.string().size() <= own.root.size()) break;
    }
  }
  if (watch.groups_.empty()) {
    return base::Error::usage(
        "no control group here has a memory limit: give --flush-at in bytes, such as 1.5GiB");
  }
  return watch;
}

std::optional<uint64_t> MemoryWatch::limit_of(const Group& group) {
  const auto limit =
      number_in(group.directory + (group.is_v2 ? "/memory.max" : "/memory.limit_in_bytes"));
  return limit && *limit != 0 && *limit < kNoLimit ? limit : std::nullopt;
}

// Without the pages of files that the kernel takes back before it ends a process.
uint64_t MemoryWatch::used_in(const Group& group) {
  const uint64_t used =
      number_in(group.directory + (group.is_v2 ? "/memory.current" : "/memory.usage_in_bytes"))
          .value_or(0);
  const uint64_t cache = field_in(group.directory + "/memory.stat",
                                  group.is_v2 ? "inactive_file" : "total_inactive_file");
  return used - std::min(used, cache);
}

bool MemoryWatch::is_above(const std::vector<uint32_t>& pids, double part) const {
  if (at_.bytes != UINT64_MAX) {
    uint64_t used = 0;
    for (const uint32_t pid : pids) used += resident_bytes(pid);
    return static_cast<double>(used) >= part * static_cast<double>(at_.bytes);
  }
  return std::ranges::any_of(groups_, [&](const Group& group) {
    const auto limit = limit_of(group);
    return limit &&
           static_cast<double>(used_in(group)) >= part * at_.share * static_cast<double>(*limit);
  });
}

bool MemoryWatch::is_reached(const std::vector<uint32_t>& pids, uint64_t now_ns) {
  const uint64_t begin_ns = base::monotonic_ns();
  const bool is_above_limit = is_above(pids, is_armed_ ? 1 : kFreeBetween);
  const bool is_new = is_above_limit && is_armed_;
  if (is_new) {
    is_armed_ = false;
    reached_ns_ = now_ns;
    pause_ns_ = std::clamp(2 * pause_ns_, kSecondNs, kMostPauseNs);
  } else if (!is_above_limit && now_ns - reached_ns_ >= pause_ns_) {
    is_armed_ = true;
  }
  const uint64_t took_ns = base::monotonic_ns() - begin_ns;
  next_ns_ = now_ns + std::max(kMinWaitNs, took_ns * kCostFactor);
  return is_new;
}

MemoryAlarm::MemoryAlarm(MemoryWatch watch, std::function<void()> on_reached)
    : watch_(std::move(watch)), on_reached_(std::move(on_reached)), thread_([this] { run(); }) {}

MemoryAlarm::~MemoryAlarm() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void MemoryAlarm::set_pids(std::vector<uint32_t> pids) {
  const std::lock_guard lock(mutex_);
  pids_ = std::move(pids);
}

void MemoryAlarm::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    const std::vector<uint32_t> pids = pids_;
    lock.unlock();
    const uint64_t now_ns = base::monotonic_ns();
    if (watch_.is_reached(pids, now_ns)) on_reached_();
    lock.lock();
    const auto pause = std::chrono::nanoseconds(watch_.next_ns() - now_ns);
    if (stopped_.wait_for(lock, pause, [this] { return stopping_; })) return;
  }
}

}  // namespace heaptape::recorder
