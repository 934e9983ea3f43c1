// The collector's side of the handshake (recorder/ring/handshake.h): gives the session's files to
// the processes that know its token. Also takes requests of `heaptape ctl` from who may make them.
#pragma once

#include <poll.h>

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "recorder/collector/control_request.h"
#include "recorder/collector/library_facts.h"
#include "recorder/collector/process_sampler.h"
#include "recorder/collector/session_memory.h"
#include "recorder/ring/handshake.h"

namespace heaptape::recorder {

// Guarantees, whoever connects:
// - Without the token nobody gets descriptors, nor any answer.
// - Only who runs as the collector's user, or as root, may make requests; for itself, a process may
//   announce its end (ControlVerb::kEnd).
// - No client is waited for: one that says nothing is rejected after a second, or earlier, when
//   more than 64 are silent: other users' first, then the oldest.
// - Who a process is has been read from /proc before its answer leaves, so before it runs on.
//
// The socket exists from open() on, so a process may connect before anybody serves it. One thread
// serves: it polls what add_waits() names and hands the result to serve(). The other
// threads may call what says so.
class HandshakeServer {
 public:
  // `code`: null where no stacks are recorded; outlives the server. `prefix`: begins
  // the name of the socket. Tests of requests have their own, so that they meet no other recorder;
  // processes to record look for kSocketPrefix only.
  static base::Result<std::unique_ptr<HandshakeServer>> open(
      CodeTables* code = nullptr, const std::string& prefix = kSocketPrefix);

  CodeTables* code() const { return code_; }
  // The value of HEAPTAPE_SESSION for the processes to record.
  const std::string& session_value() const { return session_value_; }

  // Requests may name the recording by this tape, or by the first that was named. Any thread.
  void name_tape(const std::string& path);

  // Appends what to poll.
  void add_waits(std::vector<pollfd>& waits) const;
  // The timeout for that poll; -1: none.
  int timeout_ms() const;
  // Accepts, answers and rejects clients. `waits` are those of the last add_waits(), polled.
  void serve(std::span<const pollfd> waits, const SessionFiles& files);

  // The identity of the process that got this pool, as seen during its handshake; of the first, if
  // several got the common pool under one pid, by exec. Removes the entry.
  std::optional<ProcessIdentity> take_identity(uint32_t pool, uint32_t pid);
  // The requests since the last call, the earliest first. Any thread.
  std::vector<ControlRequest> take_requests();
  // Processes that knew the token and were gone, or tired of waiting, when their answer was ready.
  // They are not recorded. Any thread.
  uint64_t given_up() const;
  // Processes whose preload library is of another build. They are not recorded. Any thread.
  uint64_t of_other_builds() const;
  // Processes to which this one's user is a stranger, or who say so. They are not recorded. Any
  // thread.
  uint64_t distrusting() const;

 private:
  using IdentityKey = std::pair<uint32_t, uint32_t>;  // pool, pid

  // A connection whose hello is yet to come.
  struct Client {
    base::Descriptor connection;
    uint64_t deadline_ns;
    bool is_strange;  // of another user than ours
  };

  HandshakeServer(base::Descriptor listener, std::string session_value, std::string token,
                  CodeTables* code);
  void accept_client();
  std::deque<Client>::iterator first_to_reject();
  void reject_silent_clients();
  void hear(Client client, const SessionFiles& files);
  bool may_join(const Hello& hello);
  void note_request(Client client, const ControlMessage& message);
  bool is_of_these_tapes(const ControlTarget& target) const;
  void answer(int connection, const Hello& hello, const SessionFiles& files);
  bool knows_token(const char (&token)[kTokenDigits]) const;
  void give_pools(int connection, const PoolRequest& request, Pools& pools) const;
  void forget_last(const IdentityKey& key);

  base::Descriptor listener_;
  const std::string session_value_;
  const std::string token_;
  CodeTables* const code_;
  LibraryFacts libraries_;
  std::deque<Client> clients_;  // the oldest first
  mutable std::mutex mutex_;
  std::map<IdentityKey, std::deque<ProcessIdentity>> identities_;  // guarded by mutex_
  std::vector<ControlRequest> requests_;                           // guarded by mutex_
  std::vector<std::string> tape_paths_;                            // guarded by mutex_
  uint64_t given_up_ = 0;                                          // guarded by mutex_
  uint64_t of_other_builds_ = 0;                                   // guarded by mutex_
  uint64_t distrusting_ = 0;                                       // guarded by mutex_
};

}  // namespace heaptape::recorder
