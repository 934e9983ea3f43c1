#include <filesystem>
#include <ostream>

#include "base/display_text.h"
#include "base/number_text.h"
#include "cli/commands.h"
#include "cli/tape_copy.h"
#include "cli/wrong_file.h"

namespace heaptape::cli {
namespace {

using base::Result;
using schema::TapeReader;
using schema::TapeSummary;

// zstd's. Higher ones gain 0.5 % at most, and take twice as long.
constexpr int kPackLevel = 16;

Result<TapeSummary> pack(const PackOptions& options) {
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kStop);
  if (!tape.ok()) return not_a_tape(tape.error(), options.path);
  if (!tape->finished()) {
    return base::Error::usage("'" + options.path +
                              "' was not finished: use `heaptape recover`, and pack its output");
  }
  CopyOptions copied{.level = kPackLevel};
  // Only the first calls of a late recording tell what of the heap was there before.
  if (tape->late_ns() == 0) copied.keyframes = schema::KeyframeSpacing();
  return copy_whole(
      *tape, options.output, [&tape](const TapeCopy&) { return summary_to_count(*tape); }, copied);
}

uint64_t file_bytes(const std::string& path) {
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : bytes;
}

}  // namespace

int run_pack(const PackOptions& options, Console& console) {
  tell_file_size_limit();
  const Result<TapeSummary> written = pack(options);
  if (!written.ok()) return console.fail(written.error());
  console.out() << base::display_text(options.output) << ": "
                << base::counted(written->events, "event");
  // A device has no size.
  if (const uint64_t bytes = file_bytes(options.output); bytes != 0) {
    console.out() << ", " << base::bytes_text(file_bytes(options.path)) << " packed to "
                  << base::bytes_text(bytes);
  }
  console.out() << "\n";
  return console.finish();
}

}  // namespace heaptape::cli
