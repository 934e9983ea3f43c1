#include "replayer/engine/replay_plan.h"

#include <algorithm>
#include <utility>

namespace heaptape::replayer {

ReplayPlan::ReplayPlan(uint64_t events, uint32_t samples, std::vector<Action> actions,
                       std::vector<Moment> moments, uint64_t before)
    : before_(before),
      events_(events - before),
      points_(std::clamp<uint64_t>(samples, 1, std::max<uint64_t>(events_, 1))),
      has_begun_(before == 0),
      actions_(std::move(actions)),
      moments_(std::move(moments)) {
  for (Action& action : actions_) action.event = std::min(action.event, events);
  std::ranges::stable_sort(actions_, {}, &Action::event);
  std::ranges::stable_sort(moments_, {}, &Moment::event);
}

// before_ + events_ * number / points_, rounded up, where the product may not fit.
uint64_t ReplayPlan::point(uint64_t number) const {
  return before_ + events_ / points_ * number +
         (events_ % points_ * number + points_ - 1) / points_;
}

uint64_t ReplayPlan::room(uint64_t event) const {
  uint64_t next = has_begun_ ? point(next_point_) : before_;
  if (next_action_ < actions_.size()) next = std::min(next, actions_[next_action_].event);
  if (next_moment_ < moments_.size()) next = std::min(next, moments_[next_moment_].event);
  return next - event;
}

AfterBatch ReplayPlan::reached(uint64_t event) {
  AfterBatch after;
  after.begins_range = !has_begun_ && event >= before_;
  has_begun_ |= after.begins_range;
  const size_t first_moment = next_moment_;
  while (next_moment_ < moments_.size() && moments_[next_moment_].event <= event) ++next_moment_;
  after.moments = std::span(moments_).subspan(first_moment, next_moment_ - first_moment);
  const size_t first = next_action_;
  while (next_action_ < actions_.size() && actions_[next_action_].event <= event) ++next_action_;
  after.actions = std::span(actions_).subspan(first, next_action_ - first);
  after.has_sample = event >= point(next_point_);
  if (after.has_sample) ++next_point_;
  return after;
}

}  // namespace heaptape::replayer
