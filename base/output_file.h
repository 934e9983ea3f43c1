// Files that appear under their own name only when they are whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/result.h"

namespace heaptape::base {

// Appends to "PATH.partial" and renames it to PATH on commit(). What stands in PATH stays until
// then. A link at PATH stays a link, and the file it names is written. A device or pipe is written
// to directly, and so is the file that standard output or standard error goes to, behind what is in
// it. Mode 0600. Move-only; one thread.
class OutputFile {
 public:
  // What an uncommitted file becomes when the object goes: kept for recovery, or removed.
  enum class IfAbandoned : uint8_t { kKeep, kRemove };

  // Takes a lock on the partial file, so that two writers of one PATH cannot mix. A partial file
  // that a dead writer left is moved to "PATH.partial.old".
  static Result<OutputFile> create(const std::string& path, IfAbandoned if_abandoned);

  OutputFile(OutputFile&& other) noexcept;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }

  // All of `bytes`, or none: after a failure the file ends where it did before. (Not so one that is
  // written to directly.)
  Status append(std::span<const uint8_t> bytes);
  // Makes sure that the next `bytes` bytes find room on the disk, where the file system can promise
  // that. kNoSpace when it cannot.
  Status reserve(uint64_t bytes);
  Status commit();

 private:
  OutputFile(std::string path, std::string partial_path, int fd, IfAbandoned if_abandoned);
  static Result<OutputFile> create_direct(const std::string& path);

  std::string path_;          // behind a link, the file that it names
  std::string partial_path_;  // empty when writing to PATH directly
  int fd_ = -1;
  uint64_t size_ = 0;
  IfAbandoned if_abandoned_;
};

// Whether `path` is a device, a pipe, or where standard output or error goes: OutputFile writes to
// those directly.
bool is_written_directly(const std::string& path);

// Whether both paths name one regular file, or would if it were there.
bool same_file(const std::string& a, const std::string& b);

// Writes a small file in one go, whole or not at all.
Status write_file(const std::string& path, std::string_view content);

// The whole of a file of at most `max_bytes`.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes);

}  // namespace heaptape::base
