#include "tests/fuzz/tape_mutator.h"

#include <capnp/message.h>
#include <kj/exception.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

#include "schema/tape/info_codec.h"
#include "schema/tape/tape.capnp.h"
#include "schema/tape/wire_words.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace heaptape::fuzz {
namespace {

using schema::ChunkKind;
namespace wire = schema::wire;

constexpr size_t kMaxMessageWords = 1 << 12;  // more is left alone: a bomb, or too slow to work on
constexpr size_t kMaxColumnBytes = 512;

using Dice = std::minstd_rand;

bool chance(Dice& dice, uint32_t one_in) {
  return dice() % one_in == 0;
}

std::vector<uint8_t> compressed(const std::vector<uint64_t>& words) {
  static schema::FrameCompressor compressor;
  const auto frame = compressor.compress(words);
  return {frame.begin(), frame.end()};
}

void append(std::vector<uint8_t>& out, std::span<const uint8_t> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// One of libFuzzer's own changes; `bytes` may grow to `limit`.
void mutate_bytes(std::vector<uint8_t>& bytes, size_t limit) {
  const size_t size = bytes.size();
  bytes.resize(std::max(size, limit));
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
}

// Any bits of the message, and the size in its first word as it then is.
void mutate_message(std::vector<uint64_t>& words) {
  std::vector<uint8_t> bytes(words.size() * sizeof(uint64_t));
  std::memcpy(bytes.data(), words.data(), bytes.size());
  mutate_bytes(bytes, bytes.size() + 32);
  words.assign((bytes.size() + 7) / sizeof(uint64_t), 0);
  if (words.empty()) return;
  std::memcpy(words.data(), bytes.data(), bytes.size());
  if (static_cast<uint32_t>(words[0]) == 0) words[0] = (words.size() - 1) << 32;
}

// Puts a number near a power of two in the place of a varint, or of a byte.
void replace_number(std::vector<uint8_t>& bytes, Dice& dice) {
  const auto is_last = [](uint8_t byte) { return byte < 0x80; };
  auto begin = bytes.begin() + static_cast<ptrdiff_t>(dice() % bytes.size());
  begin = std::find_if(begin, bytes.end(), is_last);
  if (begin != bytes.end()) ++begin;
  auto end = std::find_if(begin, bytes.end(), is_last);
  if (end != bytes.end()) ++end;
  uint64_t number = (uint64_t{1} << dice() % 64) + dice() % 3 - 1;
  std::vector<uint8_t> varint;
  for (; number >= 0x80; number >>= 7) varint.push_back(static_cast<uint8_t>(number | 0x80));
  varint.push_back(static_cast<uint8_t>(number));
  bytes.insert(bytes.erase(begin, end), varint.begin(), varint.end());
}

void mutate_column(wire::Column::Builder column, Dice& dice) {
  const auto data = column.getData();
  std::vector<uint8_t> bytes(data.begin(), data.end());
  if (!bytes.empty() && chance(dice, 3)) {
    replace_number(bytes, dice);
  } else {
    mutate_bytes(bytes, kMaxColumnBytes);
  }
  column.setData(kj::arrayPtr(bytes.data(), bytes.size()));
}

void mutate_mappings(capnp::List<wire::CodeMapping>::Builder mappings, Dice& dice) {
  if (mappings.size() == 0) return;
  auto mapping = mappings[static_cast<unsigned>(dice() % mappings.size())];
  const uint64_t number = (uint64_t{1} << dice() % 64) + dice() % 3 - 1;
  switch (dice() % 4) {
    case 0:
      return mapping.setFrames(static_cast<uint32_t>(number));
    case 1:
      return mapping.setBegin(number);
    case 2:
      return mapping.setBytes(number);
    default:
      return mapping.setFileOffset(number);
  }
}

// One column of an event chunk, or a number beside the columns.
void mutate_events(wire::EventChunk::Builder chunk, Dice& dice) {
  switch (dice() % 15) {
    case 0:
      mutate_column(chunk.getOps(), dice);
      return chunk.setCount(chunk.getOps().getData().size());
    case 1:
      return mutate_column(chunk.getSizes(), dice);
    case 2:
      return mutate_column(chunk.getAddresses(), dice);
    case 3:
      return mutate_column(chunk.getFreed(), dice);
    case 4:
      return mutate_column(chunk.getAlignments(), dice);
    case 5:
      return mutate_column(chunk.getThreads(), dice);
    case 6:
      return mutate_column(chunk.getTimes(), dice);
    case 7:
      return chunk.setUnitLog2(static_cast<uint8_t>(dice() % 14));
    case 8:
      return chunk.setFirstEvent(chunk.getFirstEvent() + dice() % 5 - 2);
    case 9:
      return mutate_column(chunk.getEnds(), dice);
    case 10:
      return mutate_column(chunk.getStacks(), dice);
    case 11:
      return mutate_column(chunk.getFrames(), dice);
    case 12:
      return chunk.setFirstFrame(chunk.getFirstFrame() + dice() % 5 - 2);
    case 13:
      return mutate_mappings(chunk.getMappings(), dice);
    default:
      return chunk.getFreed().setEncoding(static_cast<wire::Encoding>(dice() % 6));
  }
}

// False when the message is not an event chunk.
bool mutate_event_chunk(LooseTape::Chunk& chunk, Dice& dice) {
  try {
    schema::WordsReader reader(chunk.message);
    const auto fill = [&](capnp::MessageBuilder& message) {
      message.setRoot(reader.root<wire::EventChunk>());
      auto events = message.getRoot<wire::EventChunk>();
      mutate_events(events, dice);
      chunk.header.event_count = events.getCount();
      chunk.header.first_event = events.getFirstEvent();
    };
    auto words = schema::build_message("an event chunk", fill);
    if (!words.ok()) return false;
    chunk.message = std::move(*words);
    return true;
  } catch (const kj::Exception&) {
    return false;
  }
}

void mutate_header(schema::ChunkHeader& header, Dice& dice) {
  switch (dice() % 3) {
    case 0:
      header.kind = static_cast<ChunkKind>(dice() % 6);
      return;
    case 1:
      header.event_count += dice() % 5 - 2;
      return;
    default:
      header.first_event += dice() % 5 - 2;
  }
}

// Takes a chunk out, or puts one in: a copy of one of `from`.
void mutate_order(std::vector<LooseTape::Chunk>& chunks, const std::vector<LooseTape::Chunk>& from,
                  Dice& dice) {
  const auto at = chunks.begin() + static_cast<ptrdiff_t>(dice() % chunks.size());
  if (chunks.size() > 1 && chance(dice, 2)) {
    chunks.erase(at);
  } else {
    chunks.insert(at, LooseTape::Chunk(from[dice() % from.size()]));
  }
}

void mutate(LooseTape& tape, Dice& dice) {
  LooseTape::Chunk& chunk = tape.chunks[dice() % tape.chunks.size()];
  switch (dice() % 8) {
    case 0:
      return mutate_header(chunk.header, dice);
    case 1:
      return mutate_order(tape.chunks, std::vector(tape.chunks), dice);
    case 2:
      return mutate_message(chunk.message);
    default:
      if (!mutate_event_chunk(chunk, dice)) mutate_message(chunk.message);
  }
}

// Writes the tape to `out` and returns its size; 0 when it is too large.
size_t put(LooseTape tape, Dice& dice, uint8_t* out, size_t max_size) {
  const auto bytes = join(std::move(tape), chance(dice, 4) ? Ending::kKeep : Ending::kRenew);
  if (bytes.size() > max_size) return 0;
  std::copy(bytes.begin(), bytes.end(), out);
  return bytes.size();
}

}  // namespace

std::optional<LooseTape> split(std::span<const uint8_t> bytes) {
  if (bytes.size() < schema::kPreambleBytes) return std::nullopt;
  LooseTape tape;
  tape.preamble.assign(bytes.begin(), bytes.begin() + schema::kPreambleBytes);
  bytes = bytes.subspan(schema::kPreambleBytes);
  while (bytes.size() >= schema::kChunkHeaderBytes) {
    const auto header = schema::unpack_chunk_header(bytes.first<schema::kChunkHeaderBytes>());
    const auto rest = bytes.subspan(schema::kChunkHeaderBytes);
    if (!header || header->payload_bytes > rest.size()) break;
    auto message = schema::decompress_frame(rest.first(header->payload_bytes));
    if (!message.ok() || message->empty() || message->size() > kMaxMessageWords) break;
    tape.chunks.push_back({*header, std::move(*message)});
    bytes = rest.subspan(header->payload_bytes);
  }
  tape.tail.assign(bytes.begin(), bytes.end());
  if (tape.chunks.empty()) return std::nullopt;
  return tape;
}

std::vector<uint8_t> join(LooseTape tape, Ending ending) {
  std::vector<uint8_t> out = std::move(tape.preamble);
  std::vector<schema::ChunkRef> index;
  const auto put_chunk = [&out](LooseTape::Chunk chunk) {
    const std::vector<uint8_t> frame = compressed(chunk.message);
    chunk.header.payload_bytes = static_cast<uint32_t>(frame.size());
    chunk.header.payload_crc32 = schema::crc32_of(frame);
    append(out, schema::pack(chunk.header));
    append(out, frame);
  };
  for (LooseTape::Chunk& chunk : tape.chunks) {
    const schema::ChunkHeader& header = chunk.header;
    if (ending == Ending::kRenew && header.kind == ChunkKind::kIndex) continue;
    index.push_back({out.size(), header.kind, header.event_count, header.first_event});
    put_chunk(std::move(chunk));
  }
  if (ending == Ending::kRenew) {
    const uint64_t index_offset = out.size();
    LooseTape::Chunk chunk{{}, *schema::encode(index)};
    chunk.header.kind = ChunkKind::kIndex;
    put_chunk(std::move(chunk));
    append(out, schema::pack_trailer(index_offset));
  } else {
    append(out, tape.tail);
  }
  return out;
}

}  // namespace heaptape::fuzz

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  using namespace heaptape::fuzz;
  Dice dice(seed);
  auto tape = chance(dice, 10) ? std::nullopt : split({data, size});
  if (tape) {
    mutate(*tape, dice);
    if (const size_t written = put(std::move(*tape), dice, data, max_size)) return written;
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

// A chunk of the second tape goes into the first.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t* data1, size_t size1,
                                            const uint8_t* data2, size_t size2, uint8_t* out,
                                            size_t max_out_size, unsigned seed) {
  using namespace heaptape::fuzz;
  Dice dice(seed);
  auto tape = split({data1, size1});
  const auto other = split({data2, size2});
  if (!tape || !other) return 0;
  mutate_order(tape->chunks, other->chunks, dice);
  return put(std::move(*tape), dice, out, max_out_size);
}
