#include "recorder/collector/unrecorded_list.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace heaptape::recorder {
namespace {

constexpr size_t kMaxPrograms = 10'000;

// Read once: the process that wrote it may still write.
std::string text_of(const Notice& notice) {
  char text[kNoticePathBytes];
  std::memcpy(text, notice.path, sizeof text);
  return {text, strnlen(text, sizeof text)};
}

}  // namespace

const char* reason_text(Unrecorded reason) {
  switch (reason) {
    case Unrecorded::kNone:
      break;
    case Unrecorded::kStatic:
      return "statically linked";
    case Unrecorded::kOtherMachine:
      return "not built for x86-64";
    case Unrecorded::kOwnMalloc:
      return "defines malloc itself";
    case Unrecorded::kPrivileges:
      return "runs with other privileges";
    case Unrecorded::kForeignLoader:
      return "a loader other than those of glibc and musl";
    case Unrecorded::kSanitizer:
      return "its malloc is a sanitizer's";
    case Unrecorded::kLibraryOutOfReach:
      return "cannot open the preload library";
    case Unrecorded::kSystemCallFilter:
      return "executed under a seccomp filter";
    case Unrecorded::kDeepBind:
      return "opened with RTLD_DEEPBIND";
    case Unrecorded::kEnvironment:
      return "executed without HEAPTAPE_SESSION and LD_PRELOAD";
    case Unrecorded::kNamespace:
      return "opened in a namespace of its own";
    case Unrecorded::kLibrary:
      return "a C library, run as a program";
    case Unrecorded::kNetwork:
      return "executed in another network namespace";
  }
  return "";
}

void UnrecordedList::collect(SessionView session) {
  for (uint32_t index = 0; index < kNotices; ++index) {
    Notice& notice = session.notice(index);
    if (notice.state.load(std::memory_order_acquire) != NoticeState::kReady) continue;
    add(notice.reason, text_of(notice), notice.times);
    notice.state.store(NoticeState::kFree, std::memory_order_release);
  }
}

void UnrecordedList::add(Unrecorded reason, const std::string& program, int32_t times) {
  const auto number = static_cast<uint32_t>(reason);
  if (number == 0 || number > kLastUnrecorded || (times != 1 && times != -1)) return;
  const auto key = std::pair(program, reason);
  if (times_.size() < kMaxPrograms || times_.contains(key)) times_[key] += times;
}

std::vector<schema::ManifestUnrecorded> UnrecordedList::entries(
    std::vector<schema::ManifestUnrecorded> others) const {
  std::vector<schema::ManifestUnrecorded> entries = std::move(others);
  for (const auto& [key, times] : times_) {
    if (times <= 0) continue;
    entries.push_back({key.first, reason_text(key.second), static_cast<uint64_t>(times)});
  }
  std::ranges::stable_sort(entries, std::ranges::greater{}, &schema::ManifestUnrecorded::times);
  return entries;
}

}  // namespace heaptape::recorder
