// Where a file may be created or replaced on a machine that others use, too: docs/security.md.
#pragma once

#include <string>

#include "base/result.h"

namespace heaptape::base {

// The file that `path` names: itself or, if it is a link, what the link names, which may be
// missing. Links of this user are followed, and root's outside of directories where anybody may
// make files (/tmp); kUsage for others. A link in /proc/self/fd stays, unless it leads to a regular
// file.
Result<std::string> follow_own_links(const std::string& path);

// Checks that no other user planted the file at `path`, if there is one: in a directory like /tmp
// it must belong to this user or to root. kUsage otherwise, with a sentence that begins with
// `what`.
Status check_owner(const std::string& what, const std::string& path);

// Likewise, and whether it is a regular file, so that a file may take its place.
Status check_replaceable(const std::string& what, const std::string& path);

}  // namespace heaptape::base
