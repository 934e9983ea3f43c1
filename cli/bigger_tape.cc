#include "cli/bigger_tape.h"

#include <algorithm>
#include <filesystem>

#include "base/display_text.h"
#include "base/number_text.h"

namespace heaptape::cli {
namespace {

constexpr uint64_t kTimesAsLong = 10;

std::filesystem::path beside(const schema::TapeReader& tape, const std::string& name) {
  return std::filesystem::path(tape.path()).parent_path() / name;
}

}  // namespace

std::optional<schema::ManifestProcess> bigger_tape(const schema::TapeReader& tape) {
  const auto manifest = schema::read_manifest(tape.path() + ".manifest.json");
  if (!manifest.ok() || manifest->processes.empty()) return std::nullopt;
  const auto& biggest =
      *std::ranges::max_element(manifest->processes, {}, &schema::ManifestProcess::events);
  if (biggest.events / kTimesAsLong < std::max<uint64_t>(tape.events(), 1)) return std::nullopt;
  const bool is_name = biggest.tape.find('/') == std::string::npos;  // as the recorder writes it
  std::error_code error;
  if (!is_name || !std::filesystem::is_regular_file(beside(tape, biggest.tape), error))
    return std::nullopt;
  return biggest;
}

void note_bigger_tape(const schema::TapeReader& tape, Console& console) {
  const auto bigger = bigger_tape(tape);
  if (!bigger) return;
  console.print_note(
      base::quoted(tape.path()) + " is the tape of " +
      base::display_text(tape.header().executable) + " (" + base::counted(tape.events(), "call") +
      "); the tape that you want is probably " + base::quoted(beside(tape, bigger->tape)) + " (" +
      base::display_text(bigger->executable) + ", " + base::counted(bigger->events, "call") + ")");
}

}  // namespace heaptape::cli
