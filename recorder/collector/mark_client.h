// Asks the recorder of a process for a mark on its tape. recorder/collector/mark_request.h.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {

// Where a mark was put.
struct MarkPlace {
  uint64_t event;    // calls before it
  uint64_t time_ns;  // since the recording of the process began
};

// Asks the recorders of this network namespace, as /proc/net/unix lists them, until one says that
// it records the process; `pid` is as that one sees it. Returns when the mark is on the
// tape: behind each call that had returned before, and before each that begins afterwards.
// `patience_ms` is for all of it. Fails with kUsage if the name is none (schema::is_mark_name), or
// if nobody records the process, with kTarget if a recorder does not answer. `prefix`: of the names
// of the recorders' sockets, as HandshakeServer::open() has it.
base::Result<MarkPlace> request_mark(uint32_t pid, const std::string& name, int patience_ms,
                                     const std::string& prefix = kSocketPrefix);

}  // namespace heaptape::recorder
