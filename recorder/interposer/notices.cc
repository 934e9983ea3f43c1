#include "recorder/interposer/notices.h"

#include "recorder/interposer/attach.h"
#include "recorder/ring/bounded_text.h"

namespace heaptape::recorder {
namespace {

Notice* claim_notice(const SessionView& session) {
  for (uint32_t index = 0; index < kNotices; ++index) {
    Notice& notice = session.notice(index);
    NoticeState expected = NoticeState::kFree;
    if (notice.state.load(std::memory_order_relaxed) == NoticeState::kFree &&
        notice.state.compare_exchange_strong(expected, NoticeState::kClaimed)) {
      return &notice;
    }
  }
  return nullptr;
}

}  // namespace

void post_notice(Unrecorded reason, const char* path, int32_t times) {
  if (!process.session.valid() || session_is_over()) return;
  Notice* const notice = claim_notice(process.session);
  if (notice == nullptr) {
    process.session.lobby().notices_lost.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  notice->reason = reason;
  notice->times = times;
  notice->pid = process.pid;
  copy_text(notice->path, path);
  notice->state.store(NoticeState::kReady, std::memory_order_release);
  process.session.lobby().claims.fetch_add(1);
}

}  // namespace heaptape::recorder
