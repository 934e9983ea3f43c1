// What a process has of a pool, and says there.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>

#include "recorder/collector/pools.h"
#include "recorder/ring/session_layout.h"
#include "tests/support/fake_session.h"

namespace heaptape::tests {

class PoolMember {
 public:
  PoolMember(const FakeSession& session, const recorder::Pool& pool)
      : base_(mmap(nullptr, recorder::kJoinBytes, PROT_READ | PROT_WRITE, MAP_SHARED,
                   pool.descriptor(), 0)),
        view_(session.board(), &session.lobby(), {static_cast<char*>(base_), pool.number()}) {
    EXPECT_NE(base_, MAP_FAILED);
  }
  ~PoolMember() { munmap(base_, recorder::kJoinBytes); }
  PoolMember(const PoolMember&) = delete;
  PoolMember& operator=(const PoolMember&) = delete;

  void claim() const { recorder::announce_claim(view_); }
  void claim_silently() const { ++view_.header().claims; }

 private:
  void* const base_;
  const recorder::SessionView view_;
};

}  // namespace heaptape::tests
