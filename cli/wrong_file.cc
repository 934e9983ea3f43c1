#include "cli/wrong_file.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/display_text.h"
#include "schema/tape/tape_format.h"

namespace heaptape::cli {
namespace {

using base::Error;
using base::quoted;

enum class FileKind : uint8_t { kOther, kFolder, kTape, kReport, kManifest };

// All our formats have their keys near the beginning; a manifest begins with the recorded command.
constexpr size_t kBeginningBytes = 1 << 16;

std::string beginning_of(const std::string& path) {
  std::string text(kBeginningBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

// Whether the command comes right after the version, as in a manifest.
bool is_followed_by_command(const std::string& text) {
  constexpr std::string_view kVersion = "\"version\":";
  const size_t version = text.find(kVersion);
  if (version == text.npos) return false;
  const size_t next = text.find_first_not_of(" 0123456789,\n\r\t", version + kVersion.size());
  return next != text.npos && text.compare(next, 10, "\"command\":") == 0;
}

FileKind kind_of(const std::string& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return FileKind::kFolder;
  if (!std::filesystem::is_regular_file(path, error)) return FileKind::kOther;
  const std::string text = beginning_of(path);
  const std::string_view magic(reinterpret_cast<const char*>(schema::kMagic),
                               sizeof schema::kMagic);
  if (text.starts_with(magic)) return FileKind::kTape;
  const auto has = [&text](const char* key) { return text.find(key) != text.npos; };
  if (!has("\"version\":")) return FileKind::kOther;
  if (is_followed_by_command(text)) return FileKind::kManifest;
  return has("\"bytesPerEvent\":") && has("\"runs\":") ? FileKind::kReport : FileKind::kOther;
}

// A tape in the directory to name in a message; empty if there is none.
std::string tape_in(const std::string& folder) {
  std::string first;
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path();
    if (entry->path().extension() == ".tape" && (first.empty() || path < first)) first = path;
  }
  return first;
}

Error folder(const std::string& path, const std::string& what_to_give) {
  return Error::foreign(quoted(path) + " is a directory: give " + what_to_give);
}

}  // namespace

bool is_manifest(const std::string& path) {
  return kind_of(path) == FileKind::kManifest;
}

Error not_a_tape(const Error& error, const std::string& path) {
  switch (kind_of(path)) {
    case FileKind::kFolder: {
      const std::string tape = tape_in(path);
      return folder(path, "a tape in it" + (tape.empty() ? "" : ", such as " + quoted(tape)));
    }
    case FileKind::kReport:
      return Error::foreign(quoted(path) +
                            " is a report, not a tape: give the tape that was replayed, or compare "
                            "two reports with `heaptape diff`");
    case FileKind::kManifest:
      return Error::foreign(quoted(path) +
                            " is the manifest of a recording: give one of the tapes that it lists");
    case FileKind::kTape:
    case FileKind::kOther:
      break;
  }
  return error;
}

Error not_a_report(const Error& error, const std::string& path) {
  switch (kind_of(path)) {
    case FileKind::kFolder:
      return folder(path, "a report in it");
    case FileKind::kTape:
      return Error::foreign(quoted(path) +
                            " is a tape, not a report: replay it first, heaptape replay " +
                            base::command_text({path}) + " -o REPORT.json");
    case FileKind::kManifest:
      return Error::foreign(quoted(path) +
                            " is the manifest of a recording: replay one of the tapes that it "
                            "lists, and compare the reports");
    case FileKind::kReport:
    case FileKind::kOther:
      break;
  }
  return error;
}

}  // namespace heaptape::cli
