// The processes that belong to a recording, though nothing of theirs may be on a tape yet.
#pragma once

#include <string>

namespace heaptape::recorder {

class SessionUsers {
 public:
  // `lobby`: the descriptor of the session's. `session_value`: of kSessionVariable.
  SessionUsers(int lobby, const std::string& session_value);

  // Whether a process but this one has the session mapped, as a forked child has from its start, or
  // has it in its environment, as an executed program has until it joins. Looks at all processes in
  // /proc that we may read, in turn. False without /proc.
  bool any() const;

 private:
  bool uses(const std::string& directory) const;

  std::string inode_;     // of the lobby, between the spaces of /proc/PID/maps
  std::string variable_;  // as /proc/PID/environ has it
};

}  // namespace heaptape::recorder
