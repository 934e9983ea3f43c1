// `heaptape recover` on any file: what it writes is a whole tape with every event that could be
// read.
#include <sstream>

#include "cli/commands.h"
#include "cli/console.h"
#include "schema/tape/tape_reader.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temp_dir.h"

namespace heaptape::fuzz {
namespace {

using schema::TapeReader;

uint64_t readable_events(const std::string& path, TapeReader::OnDamage on_damage) {
  auto tape = TapeReader::open(path, on_damage);
  HEAPTAPE_CHECK(tape.ok());
  schema::EventBatch batch;
  uint64_t events = 0;
  do {
    HEAPTAPE_CHECK(tape->read(batch, 1000).ok());
    events += batch.events.size();
  } while (!batch.events.empty());
  if (on_damage == TapeReader::OnDamage::kStop) {
    HEAPTAPE_CHECK(tape->summary() && tape->summary()->events == events);
  }
  return events;
}

void fuzz(const std::string& tape, const std::string& output) {
  std::ostringstream out;
  std::ostringstream err;
  cli::Console console(out, err);
  if (cli::run_recover({tape, output}, console) != cli::kExitDone) {
    HEAPTAPE_CHECK(!err.str().empty());
    return;
  }
  HEAPTAPE_CHECK(readable_events(output, TapeReader::OnDamage::kStop) ==
                 readable_events(tape, TapeReader::OnDamage::kSkip));
  std::filesystem::remove(output);
}

}  // namespace
}  // namespace heaptape::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heaptape::tests::TempDir dir;
  static heaptape::fuzz::MemoryFile tape;
  tape.set({data, size});
  heaptape::fuzz::fuzz(tape.path(), dir.file("recovered"));
  return 0;
}
