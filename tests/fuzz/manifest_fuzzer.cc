// Any text as the manifest of a recording: it is refused, or what it says survives being written
// and read again.
#include "base/check.h"
#include "schema/tape/manifest.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heaptape::schema;
  const auto manifest = parse_manifest("fuzz", {reinterpret_cast<const char*>(data), size});
  if (!manifest.ok()) {
    HEAPTAPE_CHECK(!manifest.error().message.empty());
    return 0;
  }
  const auto json = to_json(*manifest);
  HEAPTAPE_CHECK(json.ok());
  const auto again = parse_manifest("again", *json);
  HEAPTAPE_CHECK(again.ok());
  HEAPTAPE_CHECK(again->processes.size() == manifest->processes.size());
  for (size_t i = 0; i < again->processes.size(); ++i) {
    HEAPTAPE_CHECK(again->processes[i].events == manifest->processes[i].events);
  }
  return 0;
}
