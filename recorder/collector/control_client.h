// Asks the recorder of a process, or of a tape, for something (recorder/ring/control_message.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "recorder/ring/control_message.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {

// What is asked for, and of whose recorder.
struct ControlOrder {
  ControlVerb verb;
  uint32_t pid = 0;       // of a recorded process, as its recorder sees it; 0: `tape` says whose
  std::string tape = {};  // the first tape of a recording that goes on, or TAPE.manifest.json
  std::string name = {};  // of a mark
};

// Asks the recorders of this network namespace, as /proc/net/unix lists them, until one says that
// the recording is its. Returns when it has done what was asked for: control_message.h. A mark is
// behind each call that had returned before, and before each that begins afterwards. `patience_ms`
// is for all of it. Fails with kUsage if the name of a mark is none (schema::is_mark_name), or if
// nobody records the target, with kTarget if a recorder does not answer or cannot write. `prefix`:
// of the names of the recorders' sockets, as HandshakeServer::open() has it.
base::Result<ControlReply> request_control(const ControlOrder& order, int patience_ms,
                                           const std::string& prefix = kSocketPrefix);

}  // namespace heaptape::recorder
