// Cap'n Proto messages to and from plain 8-byte words, with the limits that keep a hostile message
// from costing more than its own size. Only the .cc files that build or read messages include this.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/kj_guard.h"

namespace heaptape::schema {

// The words of the message that fill(message) builds. `what` is for the error: "the header of a
// tape". `segment_words`, the room of the first segment, decides where a large message is split,
// and so its bytes.
template <typename Fill>
base::Result<std::vector<uint64_t>> build_message(
    const char* what, Fill fill, unsigned segment_words = capnp::SUGGESTED_FIRST_SEGMENT_WORDS) {
  using Words = std::vector<uint64_t>;
  return guard_kj(base::ErrorCode::kIo, std::string("cannot build ") + what,
                  [&]() -> base::Result<Words> {
                    capnp::MallocMessageBuilder message(segment_words);
                    fill(message);
                    Words words(capnp::computeSerializedSizeInWords(message));
                    auto* const bytes = reinterpret_cast<kj::byte*>(words.data());
                    kj::ArrayOutputStream out(kj::arrayPtr(bytes, words.size() * sizeof(uint64_t)));
                    capnp::writeMessage(out, message);
                    return words;
                  });
}

// Reads `words` in place; they must outlive the reader. Throws kj::Exception on damage: use inside
// guard_kj. The traversal limit lets each word be read a few times and no more.
class WordsReader {
 public:
  explicit WordsReader(std::span<const uint64_t> words)
      : reader_(kj::arrayPtr(reinterpret_cast<const capnp::word*>(words.data()), words.size()),
                options(words.size())) {}

  template <typename Root>
  typename Root::Reader root() {
    return reader_.getRoot<Root>();
  }

 private:
  static capnp::ReaderOptions options(size_t word_count) {
    capnp::ReaderOptions options;
    options.traversalLimitInWords = word_count * 4 + 1024;
    options.nestingLimit = 8;
    return options;
  }

  capnp::FlatArrayMessageReader reader_;
};

}  // namespace heaptape::schema
