// When the calls of a tape were made, for the tables.
#pragma once

#include <cstdint>

#include "replayer/metrics/call_times.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {

// Times as in replayer::CallTimes; none for a tape without times.
class EventTimes {
 public:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  explicit EventTimes(const schema::TapeReader& tape)
      : known_(tape.summary() && tape.summary()->duration_ns != 0) {}

  // The calls of `batch` come next.
  void begin(const schema::EventBatch& batch) {
    times_.begin(batch.first_event, batch.events.size(), batch.times, batch.next_time);
    known_ = known_ || times_.are_known();
  }
  // Time of call `number`, from 1, in ns since the recording began, or kUnknown. Forward only.
  uint64_t of(uint64_t number) { return known_ ? times_.time_of(number) : kUnknown; }

 private:
  replayer::CallTimes times_;
  bool known_;
};

}  // namespace heaptape::python
