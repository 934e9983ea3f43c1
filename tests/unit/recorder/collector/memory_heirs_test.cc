// What a forked child has of the memory that its parent mapped.
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "base/address/pages.h"
#include "base/clock.h"
#include "recorder/collector/process_table.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/fake_session.h"
#include "tests/support/temp_dir.h"

namespace heaptape::recorder {
namespace {

using schema::MappingOp;
using tests::RingPen;

constexpr uint32_t kParent = 0;
constexpr uint32_t kChild = 1;

class MemoryHeirs : public testing::Test {
 protected:
  MemoryHeirs() {
    session_.join(kParent, static_cast<uint32_t>(getpid()));
    table_.adopt_claims();
    parents_ring_.emplace(session_, 0, kParent);
  }
  void fork_child() {
    session_.join(kChild, tests::kNoPid, kSlotForked).parent_serial = 1;
    childs_ring_.emplace(session_, 1, kChild);
    table_.adopt_claims();
  }
  static void write(RingPen& ring, MappingOp op, uint64_t page, uint64_t pages) {
    ring.write_words({mapping_word(page * base::kPageBytes, false), pages * base::kPageBytes, 0,
                      uint64_t{0x150} << kAddressShift | static_cast<uint64_t>(op)});
  }
  void work(uint32_t slot) {
    RecordedProcess& process = *table_.processes().at(slot);
    process.begin_round(0, base::monotonic_ns());
    process.work(100);
  }
  uint64_t pages_of_child() {
    MemoryOwners& owners = table_.processes().at(kChild)->merge().owners();
    owners.name_callers({{{0x100, 0x200}, "mapper"}});
    uint64_t pages = 0;
    owners.for_each_in({0, base::kAddressLimit},
                       [&](base::AddressRange part, const std::string&) { pages += part.bytes(); });
    return pages / base::kPageBytes;
  }

  tests::FakeSession session_;
  tests::TempDir dir_;
  std::unique_ptr<HandshakeServer> handshakes_ = std::move(*HandshakeServer::open());
  Backlog backlog_;
  ProcessTable table_{backlog_, session_.pools(), *handshakes_, dir_.file("run.tape")};
  std::optional<RingPen> parents_ring_;
  std::optional<RingPen> childs_ring_;
};

// Its calls may not have been read when the child is found.
TEST_F(MemoryHeirs, HaveWhatTheirParentMappedBefore) {
  write(*parents_ring_, MappingOp::kMap, 10, 8);
  fork_child();
  write(*childs_ring_, MappingOp::kUnmap, 10, 3);
  work(kChild);
  EXPECT_EQ(pages_of_child(), 0u);
  work(kParent);
  table_.adopt_claims();
  EXPECT_EQ(pages_of_child(), 5u);
  write(*parents_ring_, MappingOp::kMap, 50, 8);
  work(kParent);
  table_.adopt_claims();
  EXPECT_EQ(pages_of_child(), 5u);
}

TEST_F(MemoryHeirs, HaveItFromAParentThatEnds) {
  write(*parents_ring_, MappingOp::kMap, 10, 8);
  fork_child();
  write(*childs_ring_, MappingOp::kMap, 20, 1);
  work(kChild);
  table_.end(kParent, schema::EndReason::kExited, 0);
  EXPECT_EQ(pages_of_child(), 9u);
}

TEST_F(MemoryHeirs, HaveTheirOwnWhereTheParentWasLeft) {
  write(*parents_ring_, MappingOp::kMap, 10, 8);
  fork_child();
  write(*childs_ring_, MappingOp::kMap, 20, 1);
  work(kChild);
  table_.leave(kParent, 0);
  table_.adopt_claims();
  EXPECT_EQ(pages_of_child(), 1u);
}

// It is not yet whole.
TEST_F(MemoryHeirs, WaitForAParentThatWaits) {
  write(*parents_ring_, MappingOp::kMap, 10, 8);
  fork_child();
  session_.join(2, tests::kNoPid, kSlotForked).parent_serial = 2;
  table_.adopt_claims();
  work(kChild);
  table_.adopt_claims();
  const MemoryOwners& owners = table_.processes().at(2)->merge().owners();
  EXPECT_TRUE(owners.awaits_inheritance());
  work(kParent);
  table_.adopt_claims();
  EXPECT_FALSE(owners.awaits_inheritance());
}

// Where a program maps memory and makes no other call for a while.
TEST_F(MemoryHeirs, HaveTheirMappingCallsSaved) {
  RecordedProcess& process = *table_.processes().at(kParent);
  uint64_t now_ns = base::monotonic_ns();
  const auto save = [&] {
    work(kParent);
    process.save_if_due(now_ns);
    now_ns += 60 * base::kMillisecondNs;
    process.save_if_due(now_ns);
    table_.wait_for_tapes();
  };
  table_.adopt_claims();
  parents_ring_->write(tests::malloc_record(0x1000));
  save();
  write(*parents_ring_, MappingOp::kMap, 10, 8);
  save();
  auto reader = schema::TapeReader::open(dir_.file("run.tape.partial"));
  ASSERT_TRUE(reader.ok()) << reader.error().message;
  schema::EventBatch batch;
  ASSERT_TRUE(reader->read(batch, 10).ok());
  EXPECT_EQ(batch.events.size(), 1u);
  EXPECT_EQ(batch.mapped.size(), 1u);
}

}  // namespace
}  // namespace heaptape::recorder
