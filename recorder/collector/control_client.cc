#include "recorder/collector/control_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/display_text.h"
#include "recorder/ring/handshake.h"
#include "schema/tape/event.h"

namespace heaptape::recorder {
namespace {

using base::Error;
using base::Result;

// The names of all sessions' sockets, with the prefix.
Result<std::set<std::string>> list_sessions(const std::string& prefix) {
  std::set<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  if (!sockets) return base::os_error("cannot look for recorders in /proc/net/unix", errno);
  const std::string begin = " @" + prefix;
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.rfind(begin);
    if (at != std::string::npos) names.insert(line.substr(at + 2));
  }
  return names;
}

// The target of an order, and whose recorder may have it.
struct FoundTarget {
  ControlTarget target;
  std::string name;          // as it was given
  std::string words;         // "process 17", "'run.tape'"
  std::optional<uid_t> uid;  // nothing: it is not there
};

constexpr char kManifest[] = ".manifest.json";
constexpr char kPartial[] = ".partial";

// A recording is known by the file of its first tape, which is finished when its process ends or
// executes another program.
FoundTarget find_target(const ControlOrder& order) {
  FoundTarget found;
  struct stat file{};
  if (order.pid != 0) {
    found.name = std::to_string(order.pid);
    found.words = "process " + found.name;
    found.target.pid = order.pid;
    const bool is_there = stat(("/proc/" + std::to_string(order.pid)).c_str(), &file) == 0;
    if (is_there) found.uid = file.st_uid;
    return found;
  }
  found.name = order.tape;
  found.words = base::quoted(order.tape);
  std::string path = order.tape;
  if (path.ends_with(kManifest)) path.resize(path.size() - std::strlen(kManifest));
  if (path.ends_with(kPartial)) path.resize(path.size() - std::strlen(kPartial));
  std::error_code is_new;
  if (std::filesystem::is_symlink(path, is_new))
    path = std::filesystem::weakly_canonical(path, is_new);
  if (stat((path + kPartial).c_str(), &file) != 0 && stat(path.c_str(), &file) != 0) return found;
  found.uid = file.st_uid;
  found.target.device = file.st_dev;
  found.target.inode = file.st_ino;
  return found;
}

// Root, or whoever runs the process or writes the tape: nobody else's recorder can have it.
bool is_trusted(int connection, const FoundTarget& target) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  return peer.uid == 0 || peer.uid == geteuid() || (target.uid && peer.uid == *target.uid);
}

// None if there is no recorder to trust, or if it is ending, or stopped and has many waiting.
base::Descriptor send_to(const std::string& session, const FoundTarget& target,
                         const ControlMessage& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (session.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path + 1, session.data(), session.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + session.size());
  base::Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      !is_trusted(connection.get(), target) ||
      send(connection.get(), &message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
    return {};
  }
  return connection;
}

// Waits for recorders, and forgets those that say no, or go: then `has_lost_one`. The reply of the
// first that has done it; nothing if none has in time: then `asked` has those that are silent.
std::optional<ControlReply> wait_for_reply(std::vector<base::Descriptor>& asked,
                                           uint64_t deadline_ns, bool& has_lost_one) {
  while (!asked.empty()) {
    std::vector<pollfd> waits;
    for (const base::Descriptor& connection : asked) waits.push_back({connection.get(), POLLIN, 0});
    const uint64_t now_ns = base::monotonic_ns();
    if (now_ns >= deadline_ns) return std::nullopt;
    poll(waits.data(), waits.size(), static_cast<int>((deadline_ns - now_ns) / 1'000'000) + 1);
    for (size_t i = asked.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      ControlReply reply{};
      const ssize_t bytes = recv(asked[i].get(), &reply, sizeof reply, 0);
      if (bytes == sizeof reply && reply.magic == kControlMagic &&
          reply.outcome != ControlOutcome::kUnknownTarget) {
        return reply;
      }
      has_lost_one |= bytes <= 0;
      asked.erase(asked.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<ControlReply> request_control(const ControlOrder& order, int patience_ms,
                                     const std::string& prefix) {
  if (order.verb == ControlVerb::kMark && !schema::is_mark_name(order.name)) {
    return Error::usage(base::quoted(order.name) + " cannot name a mark: take at most " +
                        std::to_string(schema::kMaxMarkBytes) +
                        " letters, digits, '-', '_' and '.', and begin with a letter or digit");
  }
  const FoundTarget target = find_target(order);
  if (order.pid == 0 && !target.uid) {
    return Error::usage("nobody is recording to " + target.words +
                        ": give the tape of a recording that goes on, its manifest or the pid of a "
                        "recorded process");
  }
  ControlMessage message{.magic = kControlMagic,
                         .verb = order.verb,
                         .client_pid = static_cast<uint32_t>(getpid()),
                         .target = target.target,
                         .name_bytes = static_cast<uint32_t>(order.name.size()),
                         .unused = 0,
                         .name = {}};
  std::ranges::copy(order.name, message.name);
  const uint64_t deadline_ns =
      base::monotonic_ns() + static_cast<uint64_t>(patience_ms) * base::kMillisecondNs;
  // Those that end while they are asked are mostly recorders of other processes.
  constexpr int kTries = 8;
  bool has_lost_one = true;
  for (int i = 0; i < kTries && has_lost_one; ++i) {
    has_lost_one = false;
    HEAPTAPE_ASSIGN_OR_RETURN(const auto sessions, list_sessions(prefix));
    std::vector<base::Descriptor> asked;
    for (const std::string& session : sessions) {
      base::Descriptor connection = send_to(session, target, message);
      if (connection) asked.push_back(std::move(connection));
    }
    if (const auto reply = wait_for_reply(asked, deadline_ns, has_lost_one)) {
      if (reply->outcome == ControlOutcome::kDone) return *reply;
      if (reply->outcome == ControlOutcome::kNothingToDo) {
        const bool is_stopped = reply->totals.state == RecordingState::kStopped;
        return Error::usage("the recording of " + target.words +
                            (is_stopped ? " is stopped already: to go on, type `heaptape ctl " +
                                              target.name + " start`"
                                        : " has begun already"));
      }
      return Error::target("the recorder of " + target.words +
                           " could not write its tapes: its standard error says why");
    }
    if (!asked.empty()) {
      return Error::target(
          "a recorder did not answer in time, so it may not have done what was "
          "asked of " +
          target.words + ": is that recorder stopped?");
    }
  }
  if (has_lost_one) {
    return Error::target(
        "the recorder exited, was too busy or is another user's, and did not "
        "answer for " +
        target.words + ": try again if it is still running");
  }
  if (order.pid == 0) {
    return Error::usage("none of your recorders is recording to " + target.words +
                        ": the recording is over");
  }
  return Error::usage("none of your recorders is recording " + target.words +
                      ": give the pid, as its recorder sees it, of a program that "
                      "`heaptape record` or `exec` records and that has called malloc already");
}

}  // namespace heaptape::recorder
