#include "recorder/interposer/recorder_process.h"

#include <fcntl.h>
#include <sys/socket.h>

#include <cstring>

#include "recorder/program/raw_file.h"
#include "recorder/ring/bounded_text.h"
#include "recorder/ring/raw_syscall.h"

namespace heaptape::recorder {

ucred recorder_behind(long socket) {
  ucred peer{0, static_cast<uid_t>(-1), static_cast<gid_t>(-1)};
  socklen_t bytes = sizeof peer;
  raw_syscall(SYS_getsockopt, socket, SOL_SOCKET, SO_PEERCRED, as_long(&peer), as_long(&bytes));
  return peer;
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
