// Writes the page of `heaptape explain --html`. docs/howto-html.md, "One moment".
#pragma once

#include <string>

#include "base/result.h"
#include "replayer/answers/account.h"
#include "replayer/heap_map/heap_picture.h"
#include "replayer/report/explain_output.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::replayer {

// Returns one file. Requires the same as explanation_text(), and fails like explanation_json(),
// whose figures it shows.
base::Result<std::string> explain_page(const schema::TapeReader& tape,
                                       const Explanation& explanation, const HolesOptions& options,
                                       const CallSites* sites);

// Names the site whose blocks are beside most of the resident bytes in holes; empty if there are
// none. Uses find_holes(), so cached memory in holes counts. `calls` may be null.
std::string pins_sentence(const HeapPicture& picture, const Account& account,
                          const CallSites* calls);

}  // namespace heaptape::replayer
