#include "replayer/symbols/symbol_file.h"

#include <kj/debug.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "base/display_text.h"
#include "base/output_file.h"
#include "replayer/symbols/code_places_codec.h"
#include "schema/tape/wire_words.h"

namespace heaptape::replayer {
namespace {

using base::quoted;
using Words = std::vector<uint64_t>;

constexpr std::string_view kMagic("HTSYMBOL");
static_assert(kMagic.size() == sizeof(uint64_t));  // keeps the message after it aligned
constexpr uint32_t kVersion = 1;
constexpr uint64_t kMostFileBytes = uint64_t{4} << 30;

SymbolFile decode(wire::SymbolFile::Reader in) {
  std::vector<CodePlace> places = read_places(in.getPlaces());
  std::vector<uint32_t> place_of_frame;
  for (const uint32_t place : in.getPlaceOfFrame()) {
    KJ_REQUIRE(place < places.size(), "a place is missing");
    place_of_frame.push_back(place);
  }
  return {{in.getStartUnixNs(), in.getPid(), in.getJoinedFrames()},
          {std::move(places), std::move(place_of_frame)}};
}

// The message after the magic; empty if there is no magic, or nothing after it.
Words message_words(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return {};
  bytes.remove_prefix(kMagic.size());
  Words words(bytes.size() / sizeof(uint64_t));
  if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(uint64_t));
  return words;
}

}  // namespace

base::Status write_symbols(const std::string& path, const Symbols& symbols,
                           const TapeIdentity& tape) {
  HEAPTAPE_ASSIGN_OR_RETURN(
      const Words words,
      schema::build_message("the file of symbols", [&](capnp::MessageBuilder& message) {
        auto out = message.initRoot<wire::SymbolFile>();
        out.setVersion(kVersion);
        out.setStartUnixNs(tape.start_unix_ns);
        out.setPid(tape.pid);
        out.setJoinedFrames(tape.joined_frames);
        write_places(out.initPlaces(), symbols.places());
        auto list = out.initPlaceOfFrame(symbols.limit());
        for (schema::FrameNumber i = 0; i < symbols.limit(); ++i) list.set(i, symbols.index_of(i));
      }));
  const auto* const begin = reinterpret_cast<const char*>(words.data());
  std::string content(kMagic);
  content.append(begin, words.size() * sizeof(uint64_t));
  return base::write_file(path, content);
}

base::Result<SymbolFile> read_symbols(const std::string& path) {
  const base::Result<std::string> bytes = base::read_file(path, kMostFileBytes);
  if (!bytes) return bytes.error();
  const Words words = message_words(*bytes);
  if (words.empty()) {
    return base::Error::foreign(quoted(path) + " is not a symbol file; give one that " +
                                "`heaptape symbolize` wrote");
  }
  return schema::guard_kj(
      base::ErrorCode::kDamaged, quoted(path) + " is damaged; write it again",
      [&]() -> base::Result<SymbolFile> {
        schema::WordsReader reader(words);
        const auto in = reader.root<wire::SymbolFile>();
        if (in.getVersion() > kVersion) {
          return base::Error::newer_version(quoted(path) + " was written by a newer heaptape");
        }
        return decode(in);
      });
}

}  // namespace heaptape::replayer
