// The pools of a session (recorder/ring/session_layout.h), as the recorder makes, finds and frees
// them. docs/decisions/0042-pools.md.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "base/descriptor.h"
#include "base/mapping.h"
#include "recorder/ring/session_layout.h"

namespace heaptape::recorder {

// One pool.
class Pool {
 public:
  uint32_t number() const { return number_; }
  int descriptor() const { return file_.get(); }
  // The process that got it when it joined; 0: it is a spare, or the common pool.
  uint32_t pid() const { return pid_; }
  // Only for children that were forked.
  bool is_spare() const { return is_spare_; }
  // The session with this pool. The collector maps it while processes are in it.
  const SessionView& view() const { return view_; }

 private:
  friend class Pools;

  uint32_t count_claims() const;
  bool seal_if_unmapped() const;
  // Nobody can map it to write any more.
  bool is_sealed() const;

  uint32_t number_ = 0;
  uint32_t rings_ = 0;
  uint32_t pid_ = 0;
  bool is_spare_ = false;
  base::Descriptor file_;
  base::Mapping mapping_;  // none: the collector has it not mapped
  SessionView view_;
  uint32_t seen_claims_ = 0;  // PoolHeader::claims before the collector looked through it
  bool is_returned_ = false;  // its process did not get it
  uint64_t out_ns_ = 0;       // when it was handed out
  uint64_t next_try_ns_ = 0;  // of free_unmapped()
  uint64_t pause_ns_ = 0;     // before that
};

// Guarantees:
// - Nobody who gets a pool can change its size.
// - A pool is freed once no process maps it and no call in it is unread, and before that only if a
//   process that has it seals it against seals, and so loses what it writes later.
// - There is always the common pool, number 0, for those that find no other.
// - Numbers are given in the order in which pools are handed out: a parent's is less than its
//   child's, but for the common pool.
//
// Three threads: the one that answers processes, the collector's, and the one that frees.
class Pools {
 public:
  // `session` is that of the common pool, which stays mapped; `file` may be none.
  explicit Pools(const SessionView& session, base::Descriptor file = {});

  // The session with the common pool.
  const SessionView& session() const { return session_; }
  const Pool& common() const { return *common_; }
  // The one that is kept for the first process. Before there is a second thread.
  const Pool& first() const { return first_ != nullptr ? *first_ : *common_; }

  // The thread that answers.

  // For a process that joins; the common one if there is no other.
  std::shared_ptr<const Pool> make_own(uint32_t pid);
  // For the children of a process: so many, or fewer; the common one if there is no other.
  std::vector<std::shared_ptr<const Pool>> make_spares(uint32_t count);
  // Its process did not get it. The next free_unmapped() may free it.
  void take_back(const Pool& pool);
  // Makes as many spares as were asked for last, so that the next who asks has its answer at once.
  void restock();

  // The thread that frees.

  // Frees pools that no process maps. May wait: while somebody else holds pages of one, in a pipe,
  // say, the kernel waits up to 150 ms for them (Linux 6.1, mm/memfd.c). The other pools are then
  // left for the next call.
  void free_unmapped(uint64_t now_ns);
  // How many processes got a pool and never joined. Any thread.
  uint64_t never_joined() const { return never_joined_.load(std::memory_order_relaxed); }

  // The collector's.

  // The pools in which something was claimed since the last call, mapped, each once. A pool that
  // was not mapped is among them only if the lobby or look() found it; one that cannot be mapped
  // comes with a later call.
  std::vector<Pool*> take_claimed();
  // How many pools cannot be mapped.
  size_t unmapped() const { return unmapped_.size(); }
  Pool& at(uint32_t number) { return *mapped_.at(number); }
  // By number.
  const std::map<uint32_t, Pool*>& mapped() const { return mapped_; }
  // Unmaps a pool: no process is left in it that is known.
  void leave(uint32_t number);
  // The recording is over, and processes go on: gives the memory of their rings back.
  void give_back_rings();
  // Looks for claims at the next `places` places, whatever the lobby says: any process can erase
  // another's note there.
  void look(uint32_t places);

 private:
  enum class For : bool { kProgram, kChild };
  std::shared_ptr<Pool> make(uint32_t rings) const;
  std::shared_ptr<Pool> make_spare() const;
  bool hand_out(const std::shared_ptr<Pool>& pool, For whom, uint32_t pid = 0);
  void map_claimed(const std::vector<uint32_t>& places);
  bool map(Pool& pool);
  void release(Pool& pool);

  const SessionView session_;
  const std::shared_ptr<Pool> common_;
  const bool may_make_;

  // The collector's.
  uint32_t seen_claims_ = 0;        // Lobby::claims
  uint32_t next_look_ = 0;          // a place
  std::vector<uint32_t> unmapped_;  // places
  std::map<uint32_t, Pool*> mapped_;

  // The answering thread's. These have no number and no place yet.
  std::shared_ptr<Pool> first_;
  std::vector<std::shared_ptr<Pool>> stock_;
  size_t stock_size_ = 0;

  std::atomic<uint64_t> never_joined_{0};

  // Guards all below, and the members of pools at places, except their views.
  std::mutex mutex_;
  std::vector<std::shared_ptr<Pool>> places_;
  uint32_t next_number_ = 1;
  uint32_t out_ = 0;    // not freed
  uint32_t owned_ = 0;  // of these, for programs
};

}  // namespace heaptape::recorder
