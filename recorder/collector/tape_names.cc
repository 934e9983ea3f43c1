#include "recorder/collector/tape_names.h"

#include <cctype>
#include <filesystem>

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

}  // namespace

std::string TapeNames::next(const ProcessIdentity& identity) {
  if (taken_.insert(tape_path_).second) return tape_path_;
  const std::filesystem::path path(tape_path_);
  const std::string stem =
      path.extension() == ".tape" ? (path.parent_path() / path.stem()).string() : path.string();
  const std::string base =
      stem + "." + std::to_string(identity.pid) + "." + plain_name(identity.executable);
  std::string candidate = base + ".tape";
  for (int i = 2; !taken_.insert(candidate).second; ++i) {
    candidate = base + "." + std::to_string(i) + ".tape";
  }
  return candidate;
}

}  // namespace heaptape::recorder
