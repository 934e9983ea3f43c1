// Where on the tape a replay stops to look at the allocators, or to ask something of them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "replayer/answers/moment.h"
#include "replayer/engine/action.h"

namespace heaptape::replayer {

// What is to be done after a batch, in this order.
struct AfterBatch {
  std::span<const Moment> moments = {};
  std::span<const Action> actions = {};
  bool looks_first = true;  // false: the actions come before the moments
  bool has_sample = false;
  bool has_live_peak = false;            // see LivePeaks
  bool begins_range = false;             // what was counted so far does not count
  std::optional<uint64_t> time_ns = {};  // after the batch, since the recording began

  // Whether resident memory is to be measured after it.
  bool measures() const { return has_sample || has_live_peak || begins_range; }
  // Nothing is to be done with the allocator.
  bool lets_go_on() const { return moments.empty() && actions.empty() && !begins_range; }
};

// The timeline has as many points as asked for, or one an event, as even as whole numbers allow,
// the last one at the end. Moments and actions of one place keep their order.
class ReplayPlan {
 public:
  // `actions` as check_actions() wants them; no moment is outside the range, which begins after
  // `before` calls.
  ReplayPlan(uint64_t events, uint32_t samples, std::vector<Action> actions,
             std::vector<Moment> moments = {}, uint64_t before = 0);

  // How many events may follow `event` before there is something to do.
  uint64_t room(uint64_t event) const;
  // What is to be done after `event`, the one that room() said or one before it. Valid as long as
  // this object.
  AfterBatch reached(uint64_t event);

 private:
  uint64_t point(uint64_t number) const;

  uint64_t before_;
  uint64_t events_;  // of the range
  uint64_t points_;
  bool has_begun_;
  uint64_t next_point_ = 1;
  std::vector<Action> actions_;  // by event
  size_t next_action_ = 0;
  std::vector<Moment> moments_;  // by event
  size_t next_moment_ = 0;
};

}  // namespace heaptape::replayer
