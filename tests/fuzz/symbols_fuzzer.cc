// Any file as the symbols of a tape: it is refused with a sentence, or all its frames have places,
// and it stays the same when it is written and read again.
#include <cstring>
#include <string>

#include "base/check.h"
#include "replayer/symbols/symbol_file.h"
#include "tests/fuzz/memory_file.h"
#include "tests/support/temp_dir.h"

namespace heaptape::fuzz {
namespace {

void fuzz(const std::string& path, const std::string& output) {
  const auto first = replayer::read_symbols(path);
  if (!first.ok()) {
    HEAPTAPE_CHECK(!first.error().message.empty());
    return;
  }
  for (schema::FrameNumber frame = 0; frame < first->symbols.limit(); ++frame) {
    HEAPTAPE_CHECK(first->symbols.index_of(frame) < first->symbols.places().size());
  }
  HEAPTAPE_CHECK(replayer::write_symbols(output, first->symbols, first->tape).ok());
  const auto second = replayer::read_symbols(output);
  HEAPTAPE_CHECK(second.ok() && second->tape == first->tape);
  HEAPTAPE_CHECK(second->symbols.places() == first->symbols.places());
  HEAPTAPE_CHECK(second->symbols.limit() == first->symbols.limit());
}

}  // namespace
}  // namespace heaptape::fuzz

// The beginning that tells such files from others is always there.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const heaptape::tests::TempDir dir;
  static heaptape::fuzz::MemoryFile file;
  std::string bytes("HTSYMBOL");
  bytes.append(reinterpret_cast<const char*>(data), size);
  file.set({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  heaptape::fuzz::fuzz(file.path(), dir.file("symbols"));
  return 0;
}
