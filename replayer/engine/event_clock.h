// When calls were made, between the time samples of a tape.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "schema/tape/event.h"

namespace heaptape::replayer {

// Told of a tape batch by batch.
class EventClock {
 public:
  // `times` of a batch, and the sample behind it.
  void note(std::span<const schema::TimeSample> times,
            const std::optional<schema::TimeSample>& next) {
    if (!times.empty()) before_ = times.back();
    after_ = next;
  }

  // When so many calls had been made: in nanoseconds since the recording began, as if those between
  // two samples came evenly. `event` is not before the last sample told of, nor behind the next.
  // Nothing before the first.
  std::optional<uint64_t> at(uint64_t event) const {
    if (!before_) return std::nullopt;
    if (!after_ || after_->event <= before_->event || event <= before_->event ||
        after_->time_ns <= before_->time_ns) {
      return before_->time_ns;
    }
    const double share = static_cast<double>(event - before_->event) /
                         static_cast<double>(after_->event - before_->event);
    return before_->time_ns +
           static_cast<uint64_t>(share * static_cast<double>(after_->time_ns - before_->time_ns));
  }

 private:
  std::optional<schema::TimeSample> before_;
  std::optional<schema::TimeSample> after_;
};

}  // namespace heaptape::replayer
