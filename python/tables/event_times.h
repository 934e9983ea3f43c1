// When the calls of a tape were made, as the tables have it.
#pragma once

#include <cstdint>

#include "replayer/metrics/call_times.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {

// As replayer::CallTimes has them; of a tape without times, nothing.
class EventTimes {
 public:
  static constexpr uint64_t kUnknown = UINT64_MAX;

  explicit EventTimes(const schema::TapeReader& tape)
      : known_(tape.summary() && tape.summary()->duration_ns != 0) {}

  // The calls of `batch` follow.
  void begin(const schema::EventBatch& batch) {
    times_.begin(batch.first_event, batch.events.size(), batch.times, batch.next_time);
    known_ = known_ || times_.are_known();
  }
  // In ns since the recording began, of call `number`, from 1, or kUnknown. Only forward.
  uint64_t of(uint64_t number) { return known_ ? times_.time_of(number) : kUnknown; }

 private:
  replayer::CallTimes times_;
  bool known_;
};

}  // namespace heaptape::python
