#include "base/output_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "base/check.h"
#include "base/display_text.h"
#include "base/output_place.h"

namespace heaptape::base {
namespace {

constexpr mode_t kMode = 0600;
// Flags of open(2) that neither follow a link nor wait for the other end of a FIFO.
constexpr int kAsItIs = O_NOFOLLOW | O_NONBLOCK;

// As open(2), but waits a second for a descriptor if none is left: others of this process may be
// about to be closed.
int open_patiently(const std::string& path, int flags) {
  constexpr int kTries = 1000;
  for (int i = 0;; ++i) {
    const int fd = open(path.c_str(), flags | O_CLOEXEC, kMode);
    if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || i == kTries) return fd;
    usleep(1000);
  }
}

// Opens a device, or a FIFO, for whose reader it waits a second. -1 with errno ENXIO: it has none.
int open_device(const std::string& path) {
  constexpr int kTries = 100;
  for (int i = 0;; ++i) {
    const int fd = open(path.c_str(), O_WRONLY | O_APPEND | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd >= 0) fcntl(fd, F_SETFL, O_APPEND);  // its writes may wait
    if (fd >= 0 || errno != ENXIO || i == kTries) return fd;
    usleep(10'000);
  }
}

bool is_special_file(const std::string& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

// Standard output or standard error, if its file is the one at `path`, under any name (/dev/stdout,
// /dev/fd/2, the name it was redirected to); -1 if neither.
int standard_descriptor(const std::string& path) {
  struct stat there{};
  if (stat(path.c_str(), &there) != 0) return -1;
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat here{};
    if (fstat(fd, &here) == 0 && here.st_dev == there.st_dev && here.st_ino == there.st_ino) {
      return fd;
    }
  }
  return -1;
}

Error cannot_create(const std::string& path, int errno_value) {
  const std::string what = "cannot create " + quoted(path);
  if (errno_value == EISDIR) {
    return Error::usage(what + ": it is a directory; name a file in it");
  }
  if (errno_value == ENXIO) {  // open(2) has it for sockets, too
    return Error::usage(what + ": nobody reads this FIFO or socket");
  }
  const auto folder = std::filesystem::path(path).parent_path();
  std::error_code error;
  if (errno_value == ENOENT && !folder.empty() && !std::filesystem::exists(folder, error)) {
    return Error::not_found(what + ": there is no directory " + quoted(folder.string()) +
                            "; create it first");
  }
  return os_error(what, errno_value);
}

Error cannot_lock(const std::string& path, int errno_value) {
  return os_error("cannot create " + quoted(path) + ": its file system refuses a lock",
                  errno_value);
}

bool has_name(int fd, const std::string& path) {
  struct stat file{};
  struct stat named{};
  return fstat(fd, &file) == 0 && lstat(path.c_str(), &named) == 0 && file.st_dev == named.st_dev &&
         file.st_ino == named.st_ino;
}

// Locks the open file. EWOULDBLOCK: another writer has it, or took the name `path` from it before
// the lock. Any other errno: the file system refuses, as one without locks does.
int lock_under_name(int fd, const std::string& path) {
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) return errno;
  return has_name(fd, path) ? 0 : EWOULDBLOCK;
}

// The same for a new file, which is removed if it cannot be locked.
int lock_new(int fd, const std::string& path) {
  const int failure = lock_under_name(fd, path);
  if (failure != 0 && failure != EWOULDBLOCK) unlink(path.c_str());
  return failure;
}

// Some file systems, such as NFS, tell only a close that data found no room. Any descriptor of the
// file will do: its own has the lock. Without one more, fsync(2) tells the same, and takes longer.
bool is_written_back(int fd) {
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
  return copy < 0 ? fsync(fd) == 0 : close(copy) == 0;
}

bool is_empty_file(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 && info.st_size == 0;
}

bool is_empty_name(const std::string& path) {
  struct stat info{};
  return lstat(path.c_str(), &info) == 0 && info.st_size == 0;
}

// Made by this user, and no other user may open it.
bool is_own_private_file(int fd) {
  struct stat info{};
  return fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == geteuid() &&
         info.st_nlink == 1 && (info.st_mode & 07777) == kMode;
}

// The partial file of `path`, open and locked; moves a dead writer's out of the way once. An empty
// one is taken over: it says that there was a recording, until there is more to say.
Result<Descriptor> open_partial(const std::string& path, const std::string& partial_path) {
  for (int attempt = 0; attempt < 2; ++attempt) {
    Descriptor file(open_patiently(partial_path, O_WRONLY | O_CREAT | O_EXCL));
    if (file) {
      const int failure = lock_new(file.get(), partial_path);
      if (failure == 0) return file;
      if (failure != EWOULDBLOCK) return cannot_lock(path, failure);
      break;
    }
    if (errno != EEXIST) return cannot_create(path, errno);
    const std::string old_path = partial_path + ".old";
    const std::string what = "cannot create " + quoted(path);
    HEAPTAPE_RETURN_IF_ERROR(check_replaceable(what, partial_path));
    HEAPTAPE_RETURN_IF_ERROR(check_replaceable(what, old_path));
    Descriptor stale(open_patiently(partial_path, O_WRONLY | kAsItIs));
    if (!stale && errno == ENOENT) continue;  // its writer has finished
    const int failure = stale ? lock_under_name(stale.get(), partial_path) : 0;
    if (failure == EWOULDBLOCK) break;
    if (failure != 0) return cannot_lock(path, failure);
    const bool is_empty = stale ? is_empty_file(stale.get()) : is_empty_name(partial_path);
    if (stale && is_empty && is_own_private_file(stale.get())) return stale;
    if (is_empty ? unlink(partial_path.c_str()) != 0
                 : rename(partial_path.c_str(), old_path.c_str()) != 0) {
      return cannot_create(path, errno);
    }
  }
  return Error::usage("cannot create " + quoted(path) +
                      ": another heaptape is writing it; choose another name");
}

// Writes a new file, or leaves nothing.
bool write_new(const std::string& path, std::span<const uint8_t> bytes) {
  const std::string partial_path = path + ".partial";
  const Descriptor file(open_patiently(partial_path, O_WRONLY | O_CREAT | O_EXCL));
  if (!file || lock_new(file.get(), partial_path) != 0) return false;  // a rival's, or cannot be
  const ssize_t wrote = write(file.get(), bytes.data(), bytes.size());
  if (wrote == static_cast<ssize_t>(bytes.size()) && is_written_back(file.get()) &&
      renameat2(AT_FDCWD, partial_path.c_str(), AT_FDCWD, path.c_str(), RENAME_NOREPLACE) == 0) {
    return true;
  }
  unlink(partial_path.c_str());
  return false;
}

}  // namespace

OutputFile::OutputFile(std::string path, std::string partial_path, Descriptor file,
                       IfAbandoned if_abandoned)
    : path_(std::move(path)),
      partial_path_(std::move(partial_path)),
      file_(std::move(file)),
      if_abandoned_(if_abandoned) {}

OutputFile::~OutputFile() {
  if (!file_ || partial_path_.empty() || if_abandoned_ != IfAbandoned::kRemove) return;
  if (has_name(file_.get(), partial_path_)) unlink(partial_path_.c_str());
}

Result<OutputFile> OutputFile::create(const std::string& path, IfAbandoned if_abandoned) {
  struct stat info{};
  if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
    return cannot_create(path, EISDIR);
  }
  if (is_written_directly(path)) return create_direct(path);
  HEAPTAPE_ASSIGN_OR_RETURN(std::string target, follow_own_links(path));
  HEAPTAPE_RETURN_IF_ERROR(check_replaceable("cannot create " + quoted(path), target));
  std::string partial_path = target + ".partial";
  HEAPTAPE_ASSIGN_OR_RETURN(Descriptor file, open_partial(target, partial_path));
  return OutputFile(std::move(target), std::move(partial_path), std::move(file), if_abandoned);
}

// A descriptor is duplicated, not reopened: new bytes must go after those already written.
Result<OutputFile> OutputFile::create_direct(const std::string& path) {
  Descriptor file;
  if (const int standard = standard_descriptor(path); standard >= 0) {
    file.reset(fcntl(standard, F_DUPFD_CLOEXEC, 3));
  } else {
    HEAPTAPE_ASSIGN_OR_RETURN(const std::string device, follow_own_links(path));
    HEAPTAPE_RETURN_IF_ERROR(check_owner("cannot create " + quoted(path), device));
    file.reset(open_device(device));
  }
  if (!file) return cannot_create(path, errno);
  return OutputFile(path, "", std::move(file), IfAbandoned::kKeep);
}

void OutputFile::rest() {
  struct stat info{};
  if (partial_path_.empty() || !file_ || fstat(file_.get(), &info) != 0) return;
  resting_inode_ = info.st_ino;
  resting_bytes_ = info.st_size;
  file_.reset();
}

Status OutputFile::wake() {
  if (file_) return {};
  Descriptor file(open_patiently(partial_path_, O_WRONLY | kAsItIs));
  struct stat info{};
  if (!file || fstat(file.get(), &info) != 0) {
    return os_error("cannot continue writing " + quoted(path_), errno);
  }
  if (info.st_ino != resting_inode_ || info.st_size != resting_bytes_ ||
      lock_under_name(file.get(), partial_path_) != 0) {
    return Error::usage("cannot continue writing " + quoted(path_) +
                        ": another heaptape process took it over");
  }
  file_ = std::move(file);
  if (lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET) < 0) {
    return os_error("cannot continue writing " + quoted(path_), errno);
  }
  return {};
}

Status OutputFile::append(std::span<const uint8_t> bytes) {
  HEAPTAPE_RETURN_IF_ERROR(wake());
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) {
      const int saved = wrote < 0 ? errno : ENOSPC;
      // Not for a file written directly, which may have earlier content.
      if (!partial_path_.empty() && ftruncate(file_.get(), static_cast<off_t>(size_)) == 0) {
        lseek(file_.get(), static_cast<off_t>(size_), SEEK_SET);
      }
      return os_error("cannot write " + quoted(path_), saved);
    }
    done += static_cast<size_t>(wrote);
  }
  size_ += bytes.size();
  return {};
}

Status OutputFile::write_after_end(uint64_t offset, std::span<const uint8_t> bytes) {
  HEAPTAPE_CHECK(offset >= size_);
  HEAPTAPE_RETURN_IF_ERROR(wake());
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = pwrite(file_.get(), bytes.data() + done, bytes.size() - done,
                                 static_cast<off_t>(offset + done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return os_error("cannot write " + quoted(path_), wrote < 0 ? errno : ENOSPC);
    done += static_cast<size_t>(wrote);
  }
  return {};
}

void OutputFile::drop_after_end() {
  if (partial_path_.empty() || !wake().ok()) return;
  // If this fails, so will the next steps.
  if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0) return;
}

Status OutputFile::reserve(uint64_t bytes) {
  HEAPTAPE_RETURN_IF_ERROR(wake());
  if (fallocate(file_.get(), FALLOC_FL_KEEP_SIZE, static_cast<off_t>(size_),
                static_cast<off_t>(bytes)) == 0) {
    return {};
  }
  if (errno != ENOSPC && errno != EDQUOT && errno != EFBIG) return {};  // not supported here
  return os_error("cannot write " + quoted(path_), errno);
}

Status OutputFile::commit() {
  HEAPTAPE_RETURN_IF_ERROR(wake());
  if (!partial_path_.empty()) {
    if (!has_name(file_.get(), partial_path_)) {
      return Error::usage("cannot finish " + quoted(path_) +
                          ": another heaptape process took it over");
    }
    if (ftruncate(file_.get(), static_cast<off_t>(size_)) != 0 ||  // gives the reserve back
        !is_written_back(file_.get()) || rename(partial_path_.c_str(), path_.c_str()) != 0) {
      return os_error("cannot finish " + quoted(path_), errno);
    }
    file_.reset();  // nothing is left to be told
    return {};
  }
  if (close(file_.release()) != 0) return os_error("cannot write " + quoted(path_), errno);
  return {};
}

void remove_empty_partial(const std::string& path) {
  const std::string partial_path = path + ".partial";
  const Descriptor file(open(partial_path.c_str(), O_WRONLY | kAsItIs | O_CLOEXEC));
  if (file && lock_under_name(file.get(), partial_path) == 0 && is_empty_file(file.get())) {
    unlink(partial_path.c_str());
  }
}

bool is_written_directly(const std::string& path) {
  return standard_descriptor(path) >= 0 || is_special_file(path);
}

bool same_file(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || is_special_file(a) || is_special_file(b)) return false;
  std::error_code error;
  if (std::filesystem::equivalent(a, b, error)) return true;
  // Absolute: for a missing file, "x" and "./x" would remain different paths.
  const auto full = [&error](const std::string& path) {
    return std::filesystem::weakly_canonical(std::filesystem::absolute(path, error), error);
  };
  const auto full_a = full(a);
  return !error && full_a == full(b) && !error;
}

Status write_whole(const std::string& path, std::span<const uint8_t> bytes) {
  if (write_new(path, bytes)) return {};
  HEAPTAPE_ASSIGN_OR_RETURN(OutputFile file,
                            OutputFile::create(path, OutputFile::IfAbandoned::kRemove));
  HEAPTAPE_RETURN_IF_ERROR(file.append(bytes));
  return file.commit();
}

Status write_file(const std::string& path, std::string_view content) {
  return write_whole(path, {reinterpret_cast<const uint8_t*>(content.data()), content.size()});
}

Result<std::string> read_file(const std::string& path, uint64_t max_bytes) {
  // Opening a FIFO would wait for a writer. A pipe of /dev/fd, which has one, is a link.
  struct stat info{};
  if (lstat(path.c_str(), &info) == 0 && S_ISFIFO(info.st_mode)) {
    return Error::foreign(quoted(path) + " is a FIFO, not a file");
  }
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return os_error("cannot open " + quoted(path), errno);
  std::string content;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t got = read(file.get(), buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return os_error("cannot read " + quoted(path), errno);
    if (got == 0) return content;
    content.append(buffer, static_cast<size_t>(got));
    if (content.size() > max_bytes) {
      return Error::foreign(quoted(path) + " is larger than " + std::to_string(max_bytes) +
                            " bytes, the limit for such a file")
          .at(max_bytes);
    }
  }
}

}  // namespace heaptape::base
