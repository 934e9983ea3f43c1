#include "recorder/collector/tape_names.h"

#include <unistd.h>

#include <cctype>
#include <ctime>
#include <filesystem>
#include <system_error>

namespace heaptape::recorder {
namespace {

constexpr size_t kMaxProgramName = 64;

// The program's name, fit for a file name.
std::string plain_name(const std::string& executable) {
  std::string name = executable.substr(executable.rfind('/') + 1);
  if (const size_t deleted = name.find(' '); deleted != std::string::npos) name.resize(deleted);
  if (name.size() > kMaxProgramName) name.resize(kMaxProgramName);
  for (char& c : name) {
    if (!std::isalnum(static_cast<unsigned char>(c)) && c != '-' && c != '_' && c != '+') c = '_';
  }
  return name.empty() ? "process" : name;
}

// Without ".tape".
std::string stem_of(const std::string& tape_path) {
  const std::filesystem::path path(tape_path);
  return path.extension() == ".tape" ? (path.parent_path() / path.stem()).string() : tape_path;
}

bool is_there(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

std::string utc_text() {
  const time_t now = time(nullptr);
  tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts)};
}

}  // namespace

base::Result<std::string> expand_tape_path(const std::string& pattern, const std::string& program) {
  std::string path;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != '%') {
      path += pattern[i];
      continue;
    }
    const char what = ++i < pattern.size() ? pattern[i] : ' ';
    if (what == 'n') {
      path += program;
    } else if (what == 't') {
      path += utc_text();
    } else if (what == 'p') {
      path += std::to_string(getpid());
    } else if (what == '%') {
      path += '%';
    } else {
      return base::Error::usage("'" + pattern +
                                "' has a % that stands for nothing: type %n for the "
                                "program, %t for the time, %p for the pid of heaptape, or %%");
    }
  }
  return path;
}

std::string copy_path(const std::string& tape_path, uint64_t number) {
  return stem_of(tape_path) + ".flush-" + std::to_string(number) + ".tape";
}

uint64_t free_copy_number(const std::string& tape_path, uint64_t number) {
  while (is_there(copy_path(tape_path, number))) ++number;
  return number;
}

std::string interval_path(const std::string& tape_path, uint64_t number) {
  return stem_of(tape_path) + ".interval-" + std::to_string(number) + ".tape";
}

uint64_t free_interval_number(const std::string& tape_path, uint64_t number) {
  while (is_there(interval_path(tape_path, number)) ||
         is_there(interval_path(tape_path, number) + ".partial")) {
    ++number;
  }
  return number;
}

std::string TapeNames::next(const ProcessIdentity& identity) {
  if (taken_.insert(tape_path_).second) return tape_path_;
  const std::string base = stem_of(tape_path_) + "." + std::to_string(identity.pid) + "." +
                           plain_name(identity.executable);
  std::string candidate = base + ".tape";
  for (int i = 2; !taken_.insert(candidate).second; ++i) {
    candidate = base + "." + std::to_string(i) + ".tape";
  }
  return candidate;
}

}  // namespace heaptape::recorder
