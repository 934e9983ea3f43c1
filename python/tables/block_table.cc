#include <algorithm>
#include <memory>
#include <utility>

#include "base/display_text.h"
#include "python/arrow/columns.h"
#include "python/tables/event_times.h"
#include "python/tables/live_blocks.h"
#include "python/tables/op_names.h"
#include "python/tables/tape_tables.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {
namespace {

using replayer::Sites;
using schema::Event;

struct BlockRows : Batch {
  Numbers<uint64_t> birth{*this, "birth"};
  OptionalNumbers<uint64_t> death{*this, "death"};
  OptionalNumbers<uint64_t> birth_ns{*this, "birthNs"};
  OptionalNumbers<uint64_t> death_ns{*this, "deathNs"};
  Numbers<uint64_t> size{*this, "size"};
  Numbers<uint64_t> first_size{*this, "firstSize"};
  Numbers<uint32_t> resizes{*this, "resizes"};
  Numbers<uint64_t> address{*this, "address"};
  OptionalNumbers<uint64_t> alignment{*this, "alignment"};
  NameNumbers op{*this, "op", op_names()};
  Numbers<uint32_t> thread{*this, "thread"};
  OptionalNumbers<uint32_t> freed_by{*this, "freedBy"};
  OptionalNumbers<uint32_t> stack{*this, "stack"};
  OptionalNumbers<uint32_t> site{*this, "site"};

  // Everything but its death.
  void put(const Block& block, uint32_t its_site) {
    birth.put(block.birth);
    birth_ns.put(block.birth_ns, block.birth_ns != EventTimes::kUnknown);
    size.put(block.size);
    first_size.put(block.first_size);
    resizes.put(block.resizes);
    address.put(block.address);
    alignment.put_unless_0(block.alignment);
    op.put(op_number(block.op));
    thread.put(block.thread);
    stack.put_unless_0(block.stack);
    site.put(its_site, its_site != Sites::kNone);
  }
  void put_death(const CallPlace& at, uint32_t thread_of_it) {
    death.put(at.number);
    death_ns.put(at.time_ns, at.time_ns != EventTimes::kUnknown);
    freed_by.put(thread_of_it);
  }
  void put_no_death() {
    death.put_null();
    death_ns.put_null();
    freed_by.put_null();
  }
};

// The dead blocks in order of death, then those that never died.
class BlockSource : public TableSource<BlockRows> {
 public:
  BlockSource(schema::TapeReader tape, std::shared_ptr<const TapeSites> sites)
      : tape_(std::move(tape)), sites_(std::move(sites)), times_(tape_) {}

 private:
  static constexpr size_t kReadEvents = 4096;

  base::Status fill_rows(BlockRows& rows) override {
    while (rows.room() != 0 && !at_end_) {
      // No call ends more than one block.
      HEAPTAPE_RETURN_IF_ERROR(tape_.read(read_, std::min(kReadEvents, rows.room())));
      note_events(rows);
      if (blocks_.slots() > base::AddressShadow::kNone) return too_many();
      at_end_ = read_.events.empty();
      if (at_end_) live_ = blocks_.live();
    }
    for (; next_live_ < live_.size() && rows.room() != 0; ++next_live_) {
      const Block& block = *live_[next_live_];
      rows.put(block, site_of(block.stack));
      rows.put_no_death();
    }
    return {};
  }

  void note_events(BlockRows& rows) {
    times_.begin(read_);
    for (size_t i = 0; i < read_.events.size(); ++i) {
      const Event& event = read_.events[i];
      const uint64_t number = read_.first_event + i + 1;
      const CallPlace place = {number, times_.of(number),
                               read_.stacks.empty() ? 0 : read_.stacks[i]};
      const Block* const dead = blocks_.note(event, place);
      if (dead == nullptr) continue;
      rows.put(*dead, site_of(dead->stack));
      rows.put_death(place, event.thread);
    }
  }

  uint32_t site_of(schema::FrameNumber stack) const {
    return sites_ == nullptr ? Sites::kNone : sites_->sites().of_stack(stack);
  }

  base::Error too_many() const {
    return base::Error::target(base::quoted(tape_.path()) +
                               " has too many live blocks at a time for a table: cut it with "
                               "`heaptape scrub --to`");
  }

  schema::TapeReader tape_;
  std::shared_ptr<const TapeSites> sites_;
  schema::EventBatch read_;
  EventTimes times_;
  LiveBlocks blocks_;
  bool at_end_ = false;
  std::vector<const Block*> live_;  // at the end
  size_t next_live_ = 0;
};

}  // namespace

NewSource open_blocks(const TapePath& tape, std::shared_ptr<const TapeSites> sites) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::TapeReader reader,
                            schema::TapeReader::open(tape.path, tape.on_damage));
  return std::unique_ptr<Source>(
      std::make_unique<BlockSource>(std::move(reader), std::move(sites)));
}

}  // namespace heaptape::python
