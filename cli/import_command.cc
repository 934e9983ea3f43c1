#include <algorithm>
#include <ostream>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/number_text.h"
#include "base/output_file.h"
#include "cli/commands.h"
#include "recorder/import/trace_format.h"

namespace heaptape::cli {
namespace {

using recorder::ImportResult;
using recorder::ImportTroubles;
using recorder::TraceFormat;

// "which function was called, times", or "nothing".
std::string absent_text(uint32_t absent) {
  const auto names = schema::absent_names({.format = "", .absent = absent});
  return names.empty() ? "nothing" : base::name_list(names);
}

// Damage makes the exit code 1.
void tell_damage(const recorder::ImportOptions& options, const ImportResult& result,
                 Console& console) {
  const std::string file = base::quoted(options.path);
  const ImportTroubles& troubles = result.troubles;
  for (const ImportTroubles::Piece& piece : troubles.malformed_pieces) {
    console.print_error(file + ", " + result.place_name + " " + base::grouped(piece.at) +
                        " is not a call of the format '" + options.format +
                        "': " + base::quoted(piece.text));
  }
  if (!result.broken.empty()) {
    console.print_error(file + " breaks off after byte " + base::grouped(result.broken_at) +
                        " of the uncompressed trace: " + result.broken);
  }
}

void print_line(uint64_t count, const char* what, std::ostream& out) {
  if (count == 0) return;
  std::string number = base::grouped(count);
  number.insert(0, number.size() < 12 ? 12 - number.size() : 0, ' ');
  out << number << "  " << what << "\n";
}

void print(const recorder::ImportOptions& options, const ImportResult& result, std::ostream& out) {
  out << base::display_text(options.output) << ": " << base::counted(result.summary.events, "event")
      << ", imported from a trace in the format " << result.origin.format << "\n"
      << "not in this trace: " << absent_text(result.origin.absent) << "\n";
  const ImportTroubles& troubles = result.troubles;
  print_line(troubles.missed_frees, "frees inserted: their blocks' addresses were reused", out);
  print_line(troubles.unknown_resizes, "reallocs of unknown blocks: on the tape as new blocks",
             out);
  print_line(troubles.unknown_frees, "frees of unknown blocks omitted", out);
  print_line(troubles.double_frees, "double frees omitted", out);
  print_line(troubles.malformed, "malformed pieces omitted", out);
  print_line(troubles.other_calls, "calls of other processes omitted", out);
}

}  // namespace

int run_import_list(Console& console) {
  for (const TraceFormat& format : recorder::trace_formats()) {
    std::string name = format.name;
    name.resize(std::max<size_t>(name.size() + 2, 12), ' ');
    console.out() << name << format.description << "\n"
                  << "            lacks: " << absent_text(format.absent) << format.may_lack << "\n";
  }
  return console.finish();
}

int run_import(const recorder::ImportOptions& options, Console& console) {
  tell_file_size_limit();
  if (options.path.empty() || options.output.empty()) {
    return console.fail(
        base::Error::usage("name the trace and the tape: heaptape import FORMAT FILE -o TAPE "
                           "(`heaptape import list` lists the formats)"));
  }
  if (base::same_file(options.path, options.output)) {
    return console.fail(base::Error::usage(base::quoted(options.output) +
                                           " is the trace itself: write to another file"));
  }
  Progress progress(console, "importing " + base::display_text(options.path));
  const auto result =
      recorder::import_trace(options, [&progress](double share) { progress.show(share); });
  if (!result.ok()) return console.fail(result.error());
  tell_damage(options, *result, console);
  print(options, *result, console.out());
  const bool is_whole = result->troubles.malformed == 0 && result->broken.empty();
  return console.finish(is_whole ? kExitDone : kExitFailed);
}

}  // namespace heaptape::cli
