// Cap'n Proto messages to and from plain 8-byte words, with the limits that keep a hostile message
// from costing more than its own size. Only the .cc files that build or read messages include this.
#pragma once

#include <capnp/message.h>
#include <capnp/serialize.h>
#include <kj/io.h>

#include <cstdint>
#include <span>
#include <vector>

namespace heaptape::schema {

inline std::vector<uint64_t> to_words(capnp::MessageBuilder& message) {
  std::vector<uint64_t> words(capnp::computeSerializedSizeInWords(message));
  kj::ArrayOutputStream out(
      kj::arrayPtr(reinterpret_cast<kj::byte*>(words.data()), words.size() * sizeof(uint64_t)));
  capnp::writeMessage(out, message);
  return words;
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
