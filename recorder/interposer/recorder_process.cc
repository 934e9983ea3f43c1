#include "recorder/interposer/recorder_process.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

#include "recorder/program/raw_file.h"
#include "recorder/ring/bounded_text.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

uint32_t recorder_behind(long socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  const long result =
      raw_syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, as_long(&peer), as_long(&bytes));
  return result == 0 && peer.pid > 0 ? static_cast<uint32_t>(peer.pid) : 0;
}

bool is_stopped(uint32_t recorder) {
  if (recorder == 0) return true;
  char path[32] = "/proc/";
  char* const end = write_decimal(path + std::strlen(path), recorder);
  std::memcpy(end, "/stat", sizeof "/stat");
  const RawFile file(AT_FDCWD, path);
  if (!file.valid()) return true;
  char text[128] = {};
  file.read(0, text, sizeof text - 1);
  const char* name_end = std::strrchr(text, ')');  // "pid (name) state ..."
  return name_end == nullptr || std::strchr("TtZX", name_end[2]) != nullptr;
}

}  // namespace heaptape::recorder
