// Text of a report, as base::display_text() has it.
#pragma once

#include <capnp/blob.h>

#include <string>

#include "base/display_text.h"

namespace heaptape::schema {

inline std::string text_of(capnp::Text::Reader text) {
  return base::display_text({text.begin(), text.size()});
}

}  // namespace heaptape::schema
