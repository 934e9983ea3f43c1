// A recorded program of several threads on the model of its malloc. A tape does not say when a
// thread ended, and a replay does not guess; here it is guessed: after its last call.
#include <gtest/gtest.h>

#include <unordered_map>

#include "allocators/models/ptmalloc/ptmalloc_model.h"
#include "schema/tape/op.h"
#include "schema/tape/tape_reader.h"
#include "tests/support/programs.h"
#include "tests/support/recordings.h"
#include "tests/support/tapes.h"

namespace heaptape {
namespace {

using allocators::Placement;
using allocators::PtmallocModel;
using schema::Event;
using schema::OpKind;

class ThreadedReplay {
 public:
  ThreadedReplay(const std::string& path, bool with_ends) {
    auto tape = schema::TapeReader::open(path);
    initial_break_ = tape->header().initial_break;
    events_ = tests::read_events(*tape);
    for (size_t i = 0; i < events_.size(); ++i) last_call_[events_[i].thread] = i;
    for (size_t i = 0; i < events_.size(); ++i) {
      const Event& event = events_[i];
      model_.set_thread(event.thread);
      if (!schema::is_failed(event)) make(event);
      if (with_ends && event.thread != 0 && last_call_[event.thread] == i) {
        model_.end_thread(event.thread);
      }
    }
  }

  uint64_t compared() const { return compared_; }
  double same_share() const { return static_cast<double>(same_) / static_cast<double>(compared_); }

 private:
  void make(const Event& event) {
    const auto freed = blocks_.extract(event.freed_address);
    const OpKind kind = schema::op_info(event.op).kind;
    if (kind == OpKind::kRelease || schema::frees_by_resize(event)) {
      if (freed) model_.release(freed.mapped());
      return;
    }
    const Placement placed =
        kind == OpKind::kResize && freed  ? model_.reallocate(freed.mapped(), event.size)
        : event.op == schema::Op::kCalloc ? model_.allocate_zeroed(event.size)
                                          : model_.allocate(event.size, event.alignment);
    blocks_[event.address] = placed.address;
    compare(event.address - initial_break_, placed.address - PtmallocModel::traits().initial_break);
  }

  // Blocks outside of the main heap in both are at no offset that means anything.
  void compare(uint64_t recorded, uint64_t replayed) {
    constexpr uint64_t kHeapSpan = uint64_t{1} << 40;
    if (recorded >= kHeapSpan && replayed >= kHeapSpan) return;
    ++compared_;
    same_ += recorded == replayed;
  }

  std::vector<Event> events_;
  std::unordered_map<uint32_t, size_t> last_call_;
  std::unordered_map<uint64_t, uint64_t> blocks_;
  allocators::AddressSpace space_;
  PtmallocModel model_{space_, base::Values(PtmallocModel::parameters())};
  uint64_t initial_break_ = 0;
  uint64_t compared_ = 0;
  uint64_t same_ = 0;
};

TEST(PtmallocOnTapesOfThreads, IsFaithfulIfTheEndsOfThreadsAreKnown) {
  const std::string reason = tests::not_glibc_2_36();
  if (!reason.empty()) GTEST_SKIP() << reason;
  const tests::TempDir dir;
  const std::string tape = tests::record(dir, {tests::target_path("replay_threads")});
  const ThreadedReplay known(tape, true);
  EXPECT_GT(known.compared(), 20000u);
  EXPECT_EQ(known.same_share(), 1.0);
  EXPECT_LT(ThreadedReplay(tape, false).same_share(), known.same_share());
}

}  // namespace
}  // namespace heaptape
