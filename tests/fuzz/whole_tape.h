// What must hold for a tape that a target has written.
#pragma once

#include <cstdint>
#include <string>

#include "base/check.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::fuzz {

// The tape at `path` is finished, undamaged and has so many events.
inline void check_whole_tape(const std::string& path, uint64_t written) {
  auto tape = schema::TapeReader::open(path);
  HEAPTAPE_CHECK(tape.ok());
  schema::EventBatch batch;
  uint64_t events = 0;
  do {
    HEAPTAPE_CHECK(tape->read(batch, 4096).ok());
    events += batch.events.size();
  } while (!batch.events.empty());
  HEAPTAPE_CHECK(events == written && tape->summary() && tape->summary()->events == events);
}

}  // namespace heaptape::fuzz
