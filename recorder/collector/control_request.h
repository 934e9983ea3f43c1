// A request to steer a recording while it runs, in the recorder (recorder/ring/control_message.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/descriptor.h"
#include "recorder/ring/control_message.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {

static_assert(kControlNameBytes == schema::kMaxMarkBytes);

// A request that a recorder got. The reply goes to the connection; its end is an answer as well.
struct ControlRequest {
  base::Descriptor connection;
  ControlVerb verb;
  uint32_t pid;               // 0: none, or of another pid namespace
  bool is_of_this_recording;  // the target names it by its file
  std::string name = {};      // of a mark
  uint64_t cut = 0;           // stamp_now() of the first round since; 0: there was none
  uint64_t now_ns = 0;        // of that round
  uint64_t number = 0;        // of the copies that a flush of the last calls makes
};

}  // namespace heaptape::recorder
