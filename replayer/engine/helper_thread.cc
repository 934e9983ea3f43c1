#include "replayer/engine/helper_thread.h"

#include <sys/resource.h>

#include <system_error>
#include <utility>

namespace heaptape::replayer {
namespace {

constexpr rlim_t kRoomyBytes = rlim_t{4} << 30;

bool has_room() {
  rlimit limit{};
  return getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= kRoomyBytes;
}

}  // namespace

std::jthread helper_thread(std::function<void()> work) {
  if (!has_room()) return {};
  try {
    return std::jthread(std::move(work));
  } catch (const std::system_error&) {
    return {};
  }
}

}  // namespace heaptape::replayer
