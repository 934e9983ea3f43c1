#include "recorder/collector/mark_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/display_text.h"
#include "recorder/collector/mark_request.h"
#include "recorder/ring/handshake.h"

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

// Root, or whoever runs the process: nobody else's recorder can have it.
bool is_trusted(int connection, uint32_t pid) {
  ucred peer{};
  socklen_t length = sizeof peer;
  if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return false;
  struct stat process{};
  const bool exists = stat(("/proc/" + std::to_string(pid)).c_str(), &process) == 0;
  return peer.uid == 0 || peer.uid == geteuid() || (exists && peer.uid == process.st_uid);
}

// None if there is no recorder to trust, or if it is ending, or stopped and has many waiting.
base::Descriptor send_to(const std::string& session, const MarkMessage& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (session.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path + 1, session.data(), session.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + session.size());
  base::Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      !is_trusted(connection.get(), message.pid) ||
      send(connection.get(), &message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
    return {};
  }
  return connection;
}

// Waits for recorders, and forgets those that say no, or go: then `has_lost_one`. The first place
// that one names; nothing if none does in time: then `asked` has those that are silent.
std::optional<MarkPlace> wait_for_place(std::vector<base::Descriptor>& asked, int patience_ms,
                                        bool& has_lost_one) {
  const uint64_t deadline_ns =
      base::monotonic_ns() + static_cast<uint64_t>(patience_ms) * base::kMillisecondNs;
  while (!asked.empty()) {
    std::vector<pollfd> waits;
    for (const base::Descriptor& connection : asked) waits.push_back({connection.get(), POLLIN, 0});
    const uint64_t now_ns = base::monotonic_ns();
    if (now_ns >= deadline_ns) return std::nullopt;
    poll(waits.data(), waits.size(), static_cast<int>((deadline_ns - now_ns) / 1'000'000) + 1);
    for (size_t i = asked.size(); i-- > 0;) {
      if (waits[i].revents == 0) continue;
      MarkReply reply{};
      const ssize_t bytes = recv(asked[i].get(), &reply, sizeof reply, 0);
      if (bytes == sizeof reply && reply.magic == kMarkMagic &&
          reply.outcome == MarkOutcome::kPlaced) {
        return MarkPlace{reply.event, reply.time_ns};
      }
      has_lost_one |= bytes <= 0;
      asked.erase(asked.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<MarkPlace> request_mark(uint32_t pid, const std::string& name, int patience_ms,
                               const std::string& prefix) {
  const std::string process = "process " + std::to_string(pid);
  if (!schema::is_mark_name(name)) {
    return Error::usage(base::quoted(name) + " cannot name a mark: take at most " +
                        std::to_string(schema::kMaxMarkBytes) +
                        " letters, digits, '-', '_' and '.', and begin with a letter or digit");
  }
  MarkMessage message{.magic = kMarkMagic,
                      .pid = pid,
                      .client_pid = static_cast<uint32_t>(getpid()),
                      .name_bytes = static_cast<uint32_t>(name.size()),
                      .unused = 0,
                      .name = {}};
  std::ranges::copy(name, message.name);
  // Those that end while they are asked are mostly recorders of other processes.
  constexpr int kTries = 8;
  bool has_lost_one = true;
  for (int i = 0; i < kTries && has_lost_one; ++i) {
    has_lost_one = false;
    HEAPTAPE_ASSIGN_OR_RETURN(const auto sessions, list_sessions(prefix));
    std::vector<base::Descriptor> asked;
    for (const std::string& session : sessions) {
      base::Descriptor connection = send_to(session, message);
      if (connection) asked.push_back(std::move(connection));
    }
    if (const auto place = wait_for_place(asked, patience_ms, has_lost_one)) return *place;
    if (!asked.empty()) {
      return Error::target("a recorder did not answer in time, so " + process +
                           " may have no mark: is that recorder stopped?");
    }
  }
  if (has_lost_one) {
    return Error::target("the recorder exited or was too busy before it could mark " + process +
                         ": try again if the process is still running");
  }
  return Error::usage("none of your recorders is recording " + process +
                      ": give the pid, as its recorder sees it, of a program that runs under "
                      "`heaptape record` and has called malloc already");
}

}  // namespace heaptape::recorder
