// What `heaptape explain --html` writes. docs/howto-html.md, "One moment".
#pragma once

#include <string>

#include "base/result.h"
#include "replayer/answers/account.h"
#include "replayer/heap_map/heap_picture.h"
#include "replayer/report/explain_text.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// One file. Requires what explanation_text() does, and fails as explanation_json() does. Every
// figure is that of explanation_json().
base::Result<std::string> explain_page(const schema::TapeReader& tape,
                                       const Explanation& explanation, const HolesOptions& options,
                                       const CallSites* sites);

// Whose blocks stand beside most of what is resident in holes; empty where there is nothing in
// them. Holes are those of find_holes(): what is cached in them counts. `calls` may be null.
std::string pins_sentence(const HeapPicture& picture, const Account& account,
                          const CallSites* calls);

}  // namespace heaptape::replayer
