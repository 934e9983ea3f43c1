// The traces of other tools: whatever stands in one, its tape could have been recorded, and what is
// not on it was counted.
#include <filesystem>
#include <unordered_set>

#include "base/check.h"
#include "recorder/import/import_trace.h"
#include "recorder/import/trace_format.h"
#include "schema/tape/tape_reader.h"
#include "tests/fuzz/fuzz_input.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temp_dir.h"

namespace heaptape::fuzz {
namespace {

// Of a tape on which no block is handed out while it lives, or given up while it does not.
uint64_t check_tape(const std::string& path) {
  auto tape = schema::TapeReader::open(path);
  HEAPTAPE_CHECK(tape.ok());
  std::unordered_set<uint64_t> live;
  uint64_t events = 0;
  for (schema::EventBatch batch;;) {
    HEAPTAPE_CHECK(tape->read(batch, 1000).ok());
    if (batch.events.empty()) return events;
    events += batch.events.size();
    for (const schema::Event& event : batch.events) {
      if (schema::is_failed(event)) continue;
      HEAPTAPE_CHECK(event.freed_address == 0 || live.erase(event.freed_address) == 1);
      HEAPTAPE_CHECK(event.address == 0 || live.insert(event.address).second);
    }
  }
}

void fuzz(Input input, const std::string& tape) {
  static MemoryFile trace;
  const auto& formats = recorder::trace_formats();
  const std::string format = formats[input.byte() % formats.size()].name;
  const std::string_view bytes = input.rest();
  trace.set({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  const auto result = recorder::import_trace({format, trace.path(), tape});
  if (!result.ok()) {
    HEAPTAPE_CHECK(!result.error().message.empty() && !std::filesystem::exists(tape));
    return;
  }
  const recorder::ImportTroubles& troubles = result->troubles;
  HEAPTAPE_CHECK(check_tape(tape) == result->summary.events);
  HEAPTAPE_CHECK(result->summary.losses.lost_events ==
                 troubles.malformed + troubles.unknown_frees + troubles.double_frees);
  HEAPTAPE_CHECK(troubles.malformed_pieces.size() <= troubles.malformed);
  std::filesystem::remove(tape);
}

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heaptape::tests::TempDir dir;
  heaptape::fuzz::fuzz({data, size}, dir.file("tape"));
  return 0;
}
