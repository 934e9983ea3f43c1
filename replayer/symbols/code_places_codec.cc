#include "replayer/symbols/code_places_codec.h"

#include <kj/debug.h>

#include <string_view>
#include <unordered_map>

#include "schema/tape/wire_words.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kMostBytes = uint64_t{4} << 30;  // of all texts of all places

// Numbers texts in order of arrival.
class TextTable {
 public:
  uint32_t number(std::string_view text) {
    text = text.substr(0, kMostTextBytes);
    const auto [known, is_new] = numbers_.try_emplace(text, static_cast<uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(text);
    return known->second;
  }

  void write(wire::CodePlaces::Builder out) const {
    auto list = out.initTexts(static_cast<unsigned>(texts_.size()));
    for (unsigned i = 0; i < list.size(); ++i) {
      const auto* const bytes = reinterpret_cast<const kj::byte*>(texts_[i].data());
      list.set(i, {bytes, texts_[i].size()});
    }
  }

 private:
  std::unordered_map<std::string_view, uint32_t> numbers_;
  std::vector<std::string_view> texts_;
};

class PlacesReader {
 public:
  explicit PlacesReader(wire::CodePlaces::Reader in) : in_(in), frames_(in.getFrames()) {
    for (const auto text : in.getTexts()) {
      texts_.emplace_back(reinterpret_cast<const char*>(text.begin()), text.size());
    }
  }

  std::vector<CodePlace> read() {
    std::vector<CodePlace> places;
    for (const auto place : in_.getPlaces()) {
      CodePlace& added = places.emplace_back();
      added.module = text(place.getModule());
      added.offset = place.getOffset();
      // NOLINTNEXTLINE(bugprone-suspicious-semicolon): the macro is an if
      KJ_REQUIRE(place.getFrames() <= frames_.size() - next_frame_, "frames are missing");
      for (uint32_t left = place.getFrames(); left > 0; --left) {
        const auto frame = frames_[next_frame_++];
        added.source.push_back({text(frame.getFunction()), text(frame.getFile()), frame.getLine()});
      }
    }
    return places;
  }

 private:
  std::string text(uint32_t number) {
    KJ_REQUIRE(number < texts_.size(), "a text is missing");
    bytes_ += texts_[number].size();
    KJ_REQUIRE(bytes_ <= kMostBytes, "its texts are too long");
    return std::string(texts_[number]);
  }

  wire::CodePlaces::Reader in_;
  capnp::List<wire::SourceFrame>::Reader frames_;
  std::vector<std::string_view> texts_;
  unsigned next_frame_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace

void write_places(wire::CodePlaces::Builder out, const std::vector<CodePlace>& places) {
  TextTable texts;
  size_t frame_count = 0;
  for (const CodePlace& place : places) frame_count += place.source.size();
  auto list = out.initPlaces(static_cast<unsigned>(places.size()));
  auto frames = out.initFrames(static_cast<unsigned>(frame_count));
  unsigned next_frame = 0;
  for (unsigned i = 0; i < list.size(); ++i) {
    const CodePlace& place = places[i];
    list[i].setModule(texts.number(place.module));
    list[i].setOffset(place.offset);
    list[i].setFrames(static_cast<uint32_t>(place.source.size()));
    for (const SourceFrame& frame : place.source) {
      auto added = frames[next_frame++];
      added.setFunction(texts.number(frame.function));
      added.setFile(texts.number(frame.file));
      added.setLine(frame.line);
    }
  }
  texts.write(out);
}

std::vector<CodePlace> read_places(wire::CodePlaces::Reader in) {
  return PlacesReader(in).read();
}

}  // namespace heaptape::replayer
