// Files that appear under their own name only when they are whole.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/descriptor.h"
#include "base/descriptor_limit.h"
#include "base/result.h"

namespace heaptape::base {

// Writes "PATH.partial", which commit() renames to PATH. Guarantees:
// - PATH holds the old content or the whole of the new, never a part: the rename is one step.
// - After append() fails, the file ends where it did before, so that more can be tried.
// - A writer that is killed leaves what it appended as PATH.partial; the next one moves that to
//   "PATH.partial.old" and does not mix with it.
// - Two writers of one PATH cannot mix: a lock on the partial file refuses the second.
// - A link at PATH stays a link, and the file that it names is written. Mode 0600.
// None of them holds for what is_written_directly(): devices, pipes, and the files that standard
// output and error go to, behind what is in them. Not synchronised to the disk: a crash of the
// system may undo a commit. Move-only; one thread.
class OutputFile {
 public:
  // What an uncommitted file becomes when the object goes: kept for recovery, or removed.
  enum class IfAbandoned : uint8_t { kKeep, kRemove };

  // Fails with kUsage where PATH is a folder or has a writer already, with kNotFound where its
  // folder is missing.
  static Result<OutputFile> create(const std::string& path, IfAbandoned if_abandoned);

  OutputFile(OutputFile&& other) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // From now on an uncommitted file is kept.
  void keep_if_abandoned() { if_abandoned_ = IfAbandoned::kKeep; }

  // Bytes appended so far.
  uint64_t size() const { return size_; }

  // All of `bytes`, or none.
  Status append(std::span<const uint8_t> bytes);
  // Writes at `offset`, which is not before size(): scrap that commit() takes away, for those who
  // find the file when its writer was killed. May fail half-way, and not do for a direct file.
  Status write_behind(uint64_t offset, std::span<const uint8_t> bytes);
  // Takes everything behind size() away, with what was reserved there.
  void drop_behind();
  // Makes sure that the next `bytes` bytes find room on the disk, where the file system can promise
  // that. kNoSpace when it cannot.
  Status reserve(uint64_t bytes);
  // Closes the file until the next call that writes, which opens it again: for who has many files
  // and few descriptors. Meanwhile it is not locked; should another writer take it over, that call
  // fails with kUsage.
  void rest();
  // Whether its descriptor is one of the last `count` that this process may have.
  bool is_among_last_descriptors(uint32_t count) const {
    return file_ && is_among_last(file_.get(), count);
  }
  // Gives the file its name, and back what was reserved and not used. Nothing may follow.
  Status commit();

 private:
  OutputFile(std::string path, std::string partial_path, Descriptor file, IfAbandoned if_abandoned);
  static Result<OutputFile> create_direct(const std::string& path);
  Status wake();

  std::string path_;          // behind a link, the file that it names
  std::string partial_path_;  // empty when writing to PATH directly
  Descriptor file_;
  uint64_t size_ = 0;
  uint64_t resting_inode_ = 0;
  IfAbandoned if_abandoned_;
};

// Whether `path` is a device, a pipe, or where standard output or error goes: OutputFile writes to
// those directly.
bool is_written_directly(const std::string& path);

// Whether both paths name one regular file, or would if it were there.
bool same_file(const std::string& a, const std::string& b);

// Writes a file in one go, whole or not at all; an uncommitted rest is removed. With few system
// calls where there was no such file.
Status write_whole(const std::string& path, std::span<const uint8_t> bytes);
Status write_file(const std::string& path, std::string_view content);

// The whole of a file of at most `max_bytes`.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes);

}  // namespace heaptape::base
