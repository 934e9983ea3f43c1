#include "recorder/collector/mark_client.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cctype>
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
std::set<std::string> list_sessions() {
  std::set<std::string> names;
  std::ifstream sockets("/proc/net/unix");
  const std::string begin = std::string(" @") + kSocketPrefix;
  for (std::string line; std::getline(sockets, line);) {
    const size_t at = line.rfind(begin);
    if (at != std::string::npos) names.insert(line.substr(at + 2));
  }
  return names;
}

// What the name of a metric may have: marks are part of such.
bool may_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
}

// None if the recorder is ending, or stopped and has many waiting.
base::Descriptor send_to(const std::string& session, const MarkMessage& message) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (session.size() >= sizeof address.sun_path) return {};
  std::memcpy(address.sun_path + 1, session.data(), session.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + session.size());
  base::Descriptor connection(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(connection.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      send(connection.get(), &message, sizeof message, MSG_NOSIGNAL) != sizeof message) {
    return {};
  }
  return connection;
}

// Waits for recorders, and forgets those that say no, or nothing because we are another user's. The
// first place that one names; nothing if none does in time: then `asked` has those that are silent.
std::optional<MarkPlace> wait_for_place(std::vector<base::Descriptor>& asked, int patience_ms) {
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
      asked.erase(asked.begin() + static_cast<ptrdiff_t>(i));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<MarkPlace> request_mark(uint32_t pid, const std::string& name, int patience_ms) {
  if (name.empty() || name.size() > schema::kMaxMarkBytes || !std::ranges::all_of(name, may_name)) {
    return Error::usage(base::quoted(name) + " cannot name a mark: take 1 to " +
                        std::to_string(schema::kMaxMarkBytes) +
                        " letters, digits, '-', '_' and '.'");
  }
  MarkMessage message{.magic = kMarkMagic, .pid = pid, .name_bytes = 0, .name = {}};
  message.name_bytes = static_cast<uint32_t>(name.size());
  std::ranges::copy(name, message.name);
  std::vector<base::Descriptor> asked;
  for (const std::string& session : list_sessions()) {
    base::Descriptor connection = send_to(session, message);
    if (connection) asked.push_back(std::move(connection));
  }
  if (const auto place = wait_for_place(asked, patience_ms)) return *place;
  const std::string process = "process " + std::to_string(pid);
  if (!asked.empty()) {
    return Error::target("a recorder did not answer in time, so " + process +
                         " may have no mark: is that recorder stopped?");
  }
  return Error::usage("no recorder of yours records " + process +
                      ": give the pid of a program that runs under `heaptape record`");
}

}  // namespace heaptape::recorder
