#include "recorder/collector/stack_table.h"

#include <iterator>
#include <utility>

#include "base/check.h"
#include "schema/tape/stack_end.h"

namespace heaptape::recorder {

namespace {

constexpr size_t kMostCallsOfNoFile = size_t{1} << 20;

bool is_in(const base::AddressRange& range, uint64_t address) {
  return address >= range.begin && address < range.end;
}

}  // namespace

using schema::CodeMapping;
using schema::Frame;
using schema::FrameNumber;

void StackTable::Nodes::add(const Node& node) {
  if (count_ % kPieceNodes == 0) pieces_.push_back(std::make_unique<Node[]>(kPieceNodes));
  (*this)[count_++] = node;
}

template <typename Stop>
StackTable::Place& StackTable::Shard::probe(uint64_t hash, Stop stop) {
  const size_t mask = places.size() - 1;
  for (size_t at = (hash << kShardsLog2) >> shift;; at = (at + 1) & mask) {
    if (stop(places[at])) return places[at];
  }
}

void StackTable::Shard::add(const Place& place) {
  if ((used + 1) * 4 > places.size() * 3) grow();
  probe(place.hash, [](const Place& other) { return other.number == 0; }) = place;
  ++used;
}

void StackTable::Shard::grow() {
  --shift;
  const std::vector<Place> before = std::exchange(places, {});
  places.resize(2 * before.size());
  for (const Place& place : before) {
    if (place.number == 0) continue;
    probe(place.hash, [](const Place& other) { return other.number == 0; }) = place;
  }
}

bool StackTable::is(FrameNumber number, FrameNumber caller, uint64_t word) {
  const Node& node = nodes_[number];
  return node.word == word && node.caller == caller;
}

// 0: it is not on the tape.
FrameNumber StackTable::find(FrameNumber caller, uint64_t word) {
  NearCallees& callees = nodes_[caller].callees;
  const FrameNumber near =
      callees.find(word, [&](FrameNumber number) { return is(number, caller, word); });
  if (near != 0 || !nodes_[caller].is_spilled) return near;
  const uint64_t hash = hash_of_frame(caller, word);
  const auto stop = [&](const Place& place) {
    return place.number == 0 || (place.hash == hash && is(place.number, caller, word));
  };
  const FrameNumber number = shard_of(hash).probe(hash, stop).number;
  if (number != 0) callees.add(word, number);
  return number;
}

void StackTable::change_tape(schema::TapeEncoder& tape) {
  tape_ = &tape;
  for (const auto& [begin, mapping] : code_) tape.add_mapping(mapping);
  calls_of_no_file_.clear();
  for (FrameNumber number = 1; number <= frames_; ++number) {
    const Node& node = nodes_[number];
    const uint64_t address = node.word & ~schema::kGuessFlag;
    const FrameNumber again = tape.add_frame({node.caller, address, address != node.word});
    HEAPTAPE_CHECK(again == number);
    note_call(address - 1);
  }
}

FrameNumber StackTable::find_or_add(const Frame& frame) {
  const uint64_t word = frame.return_address | (frame.guesses ? schema::kGuessFlag : 0);
  const FrameNumber known = find(frame.caller, word);
  if (known != 0 || frames_ == schema::kMostFrames) return known;
  const FrameNumber number = tape_->add_frame(frame);
  ++frames_;
  HEAPTAPE_CHECK(number == frames_);
  nodes_.add({word, frame.caller, 0, {}});
  add_callee(number);
  note_call(frame.return_address - 1);
  return number;
}

bool StackTable::ends_at_once(FrameNumber stack) {
  constexpr int kFewFrames = 2;
  for (int frames = 0; frames <= kFewFrames; ++frames) {
    const Node& node = nodes_[stack];
    const auto is = [&node](schema::StackEnd end) {
      return node.word == static_cast<uint64_t>(end);
    };
    if (node.caller == 0) return is(schema::StackEnd::kUnreadable) || is(schema::StackEnd::kNoCode);
    stack = node.caller;
  }
  return false;
}

void StackTable::add_callee(FrameNumber number) {
  const Node& node = nodes_[number];
  Node& caller = nodes_[node.caller];
  if (caller.callees.is_full()) {
    if (!caller.is_spilled)
      caller.callees.for_each([this](FrameNumber other) { add_place(other); });
    caller.is_spilled = 1;
    add_place(number);
  }
  caller.callees.add(node.word, number);
}

void StackTable::add_place(FrameNumber number) {
  const uint64_t hash = hash_of_frame(nodes_[number].caller, nodes_[number].word);
  shard_of(hash).add({hash, number});
}

// The mark of a cut stack is no call.
void StackTable::note_call(uint64_t address) {
  if (is_in(last_code_, address) || address + 1 < schema::kStackEnds) return;
  const auto behind = code_.upper_bound(address);
  if (behind != code_.begin() && is_in(std::prev(behind)->second.range, address)) {
    last_code_ = std::prev(behind)->second.range;
  } else if (calls_of_no_file_.size() < kMostCallsOfNoFile) {
    calls_of_no_file_.push_back(address);
  }
}

void StackTable::note_code(const std::vector<CodeMapping>& mappings) {
  for (const CodeMapping& mapping : mappings) {
    const auto known = code_.find(mapping.range.begin);
    if (known != code_.end() && known->second == mapping) continue;
    forget_code(mapping.range);
    code_.emplace(mapping.range.begin, mapping);
    tape_->add_mapping(mapping);
  }
}

// What was there is gone. If it comes again, it goes onto the tape again.
void StackTable::forget_code(const base::AddressRange& range) {
  last_code_ = {};
  auto at = code_.lower_bound(range.begin);
  if (at != code_.begin() && std::prev(at)->second.range.end > range.begin) --at;
  while (at != code_.end() && at->first < range.end) at = code_.erase(at);
}

}  // namespace heaptape::recorder
