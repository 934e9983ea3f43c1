// The parts of a tape that could not be read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace heaptape::schema {

// A stretch of the file that could not be read.
struct Damage {
  uint64_t offset = 0;       // where it begins
  uint64_t bytes = 0;        // how long it is; 0 where that is not known
  uint64_t lost_events = 0;  // as far as the chunks around it tell
  std::string reason;
};

enum class OnDamage : uint8_t {
  kStop,  // the first damage is an error that says where it is and what to do
  kSkip,  // damage is listed, and reading goes on behind it
};

// The damage found in one tape so far, in the order in which it was found. One thread.
class DamageLog {
 public:
  // `path` is for messages.
  DamageLog(std::string path, OnDamage on_damage);

  // Under kStop, returns the damage as an error; under kSkip, lists it.
  base::Status note(Damage damage);
  // Blames the loss of `events` on listed damage between the two offsets that is not blamed for any
  // yet; false if there is none.
  bool blame(uint64_t after, uint64_t before, uint64_t events);

  // The error that tells users of `damage`.
  base::Error describe(const Damage& damage) const;
  const std::vector<Damage>& list() const { return damages_; }

 private:
  std::string path_;
  OnDamage on_damage_;
  std::vector<Damage> damages_;
};

}  // namespace heaptape::schema
