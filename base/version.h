// The version of heaptape, set by the build.
#pragma once

namespace heaptape::base {

inline constexpr char kVersion[] = HEAPTAPE_VERSION;

}  // namespace heaptape::base
