// Everything that a tape holds beside its header and summary, as one value.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "schema/tape/event.h"
#include "schema/tape/stack.h"

namespace heaptape::tests {

struct Contents {
  std::vector<schema::Event> events;
  std::vector<schema::FrameNumber> stacks;  // of each event; 0: none
  std::vector<schema::TimeSample> times;
  std::vector<schema::ThreadEnd> ends;
  std::vector<schema::SteeringCall> steering;
  std::vector<schema::MappingCall> mapped;
  std::vector<schema::ProcessSample> samples;
  std::vector<schema::Mark> marks;
  std::vector<schema::Frame> frames;
  std::vector<schema::CodeMapping> mappings;

  bool operator==(const Contents&) const = default;
};

// In batches of at most `batch_events()`. What cannot be read fails the test.
Contents read_contents(const std::string& path, const std::function<size_t()>& batch_events);

}  // namespace heaptape::tests
