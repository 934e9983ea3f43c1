// Any text as the spec of a backend. A plug-in is loaded when its spec is read: without a slash the
// text can name none of this machine's libraries.
#include <algorithm>
#include <string>

#include "allocators/catalog/catalog.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  std::ranges::replace(text, '/', '_');
  const auto spec = heaptape::allocators::parse_spec(text);
  if (spec.ok()) {
    HEAPTAPE_CHECK(!spec->label.empty());
  } else {
    HEAPTAPE_CHECK(!spec.error().message.empty());
  }
  return 0;
}
