#include <algorithm>
#include <utility>

#include "python/arrow/columns.h"
#include "python/tables/event_times.h"
#include "python/tables/op_names.h"
#include "python/tables/tape_tables.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {
namespace {

using schema::Event;

struct EventRows : Batch {
  Numbers<uint64_t> n{*this, "n"};
  Numbers<uint32_t> thread{*this, "thread"};
  NameNumbers op{*this, "op", op_names()};
  OptionalNumbers<uint64_t> freed{*this, "freed"};
  OptionalNumbers<uint64_t> alignment{*this, "alignment"};
  OptionalNumbers<uint64_t> size{*this, "size"};
  OptionalNumbers<uint64_t> address{*this, "address"};
  OptionalNumbers<uint32_t> stack{*this, "stack"};
  OptionalNumbers<uint64_t> time_ns{*this, "timeNs"};
};

class EventSource : public TableSource<EventRows> {
 public:
  explicit EventSource(schema::TapeReader tape) : tape_(std::move(tape)), times_(tape_) {}

 private:
  // Events read at a time: they stay in the second-level cache.
  static constexpr size_t kReadEvents = 4096;

  base::Status fill_rows(EventRows& rows) override {
    while (rows.room() != 0) {
      HEAPTAPE_RETURN_IF_ERROR(tape_.read(read_, std::min(kReadEvents, rows.room())));
      if (read_.events.empty()) break;
      put(rows);
    }
    return {};
  }

  // Column by column: a small loop keeps its state in registers.
  void put(EventRows& rows) {
    const std::vector<Event>& events = read_.events;
    for (size_t i = 0; i < events.size(); ++i) rows.n.put(read_.first_event + i + 1);
    for (const Event& event : events) rows.thread.put(event.thread);
    for (const Event& event : events) rows.op.put(op_number(event.op));
    for (const Event& event : events) rows.freed.put_unless_0(event.freed_address);
    for (const Event& event : events) rows.alignment.put_unless_0(event.alignment);
    for (const Event& event : events) {
      rows.size.put(event.size, schema::op_info(event.op).kind != schema::OpKind::kRelease);
    }
    for (const Event& event : events) rows.address.put_unless_0(event.address);
    for (size_t i = 0; i < events.size(); ++i) {
      rows.stack.put_unless_0(read_.stacks.empty() ? 0 : read_.stacks[i]);
    }
    put_times(rows.time_ns);
  }

  void put_times(OptionalNumbers<uint64_t>& column) {
    times_.begin(read_);
    for (size_t i = 0; i < read_.events.size(); ++i) {
      const uint64_t time_ns = times_.of(read_.first_event + i + 1);
      column.put(time_ns, time_ns != EventTimes::kUnknown);
    }
  }

  schema::TapeReader tape_;
  schema::EventBatch read_;
  EventTimes times_;
};

}  // namespace

NewSource open_events(const TapePath& tape) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::TapeReader reader,
                            schema::TapeReader::open(tape.path, tape.on_damage));
  return std::unique_ptr<Source>(std::make_unique<EventSource>(std::move(reader)));
}

}  // namespace heaptape::python
