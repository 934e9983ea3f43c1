// Any text as the spec of a backend.
#include "allocators/catalog/catalog.h"
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto spec = heaptape::allocators::parse_spec({reinterpret_cast<const char*>(data), size});
  if (spec.ok()) {
    HEAPTAPE_CHECK(!spec->label.empty());
  } else {
    HEAPTAPE_CHECK(!spec.error().message.empty());
  }
  return 0;
}
