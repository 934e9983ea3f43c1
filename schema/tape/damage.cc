#include "schema/tape/damage.h"

#include <algorithm>
#include <utility>

#include "base/display_text.h"

namespace heaptape::schema {

DamageLog::DamageLog(std::string path, OnDamage on_damage)
    : path_(std::move(path)), on_damage_(on_damage) {}

base::Status DamageLog::note(Damage damage) {
  if (on_damage_ == OnDamage::kStop) return describe(damage);
  damages_.push_back(std::move(damage));
  return {};
}

bool DamageLog::blame(uint64_t after, uint64_t before, uint64_t events) {
  const auto damage = std::ranges::find_if(damages_, [&](const Damage& candidate) {
    return candidate.offset > after && candidate.offset < before && candidate.lost_events == 0;
  });
  if (damage == damages_.end()) return false;
  damage->lost_events = events;
  return true;
}

base::Error DamageLog::describe(const Damage& damage) const {
  return base::Error::damaged(
             base::quoted(path_) + " is damaged at byte " + std::to_string(damage.offset) + ": " +
             damage.reason +
             "; `heaptape verify` lists the damage, `heaptape recover` keeps the rest")
      .at(damage.offset);
}

}  // namespace heaptape::schema
