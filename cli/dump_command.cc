#include "cli/commands.h"

#include <ostream>

#include "cli/console.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::cli {
namespace {

using schema::EventBatch;
using schema::TapeReader;

constexpr size_t kBatchEvents = 4096;

}  // namespace

int run_dump(const DumpOptions& options, std::ostream& out, std::ostream& err) {
  auto tape = TapeReader::open(options.path, TapeReader::OnDamage::kSkip);
  if (!tape.ok()) return complain(err, tape.error());
  const uint64_t from = options.from == 0 ? 0 : options.from - 1;
  if (from < tape->events()) {
    if (const auto status = tape->seek(from); !status.ok()) return complain(err, status.error());
    EventBatch batch;
    std::string text;
    bool more = true;
    while (more && out) {
      if (const auto status = tape->read(batch, kBatchEvents); !status.ok()) {
        return complain(err, status.error());
      }
      text.clear();
      more = !batch.events.empty();
      for (size_t i = 0; i < batch.events.size(); ++i) {
        const uint64_t number = batch.first_event + i + 1;
        if (number > options.to) more = false;
        if (number <= from || number > options.to) continue;
        schema::append_event(text, options.format, number, batch.events[i]);
      }
      out << text;
    }
  }
  if (tape->damages().empty()) return finish(out, err, kExitDone);
  const schema::Damage& first = tape->damages().front();
  return complain(err, "'" + options.path + "' is damaged at byte " + std::to_string(first.offset) +
                           ": " + first.reason + "; the events there are left out");
}

}  // namespace heaptape::cli
