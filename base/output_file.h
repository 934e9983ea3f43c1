// Files that appear under their own name only when complete.
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
// - PATH contains the old content or all of the new, never a part: the rename is one step.
// - After append() fails, the file ends where it did before, so that more can be tried.
// - A writer that is killed leaves its data as PATH.partial; the next one moves that to
//   "PATH.partial.old" unless it is empty, and does not mix with it.
// - Two writers of one PATH cannot mix: a lock on the partial file refuses the second.
// - A link at PATH stays a link, and the file that it names is written. Mode 0600.
// - Nothing that another user has put at one of these names in a directory like /tmp is followed,
//   opened or replaced (base/output_place.h), and nothing is waited for.
// None of these holds if is_written_directly(): for devices, pipes, and the files of standard
// output and error, to which it appends. Not synchronized to the disk: a crash of the system may
// undo a commit. Move-only; one thread.
class OutputFile {
 public:
  // The fate of an uncommitted file when the object is destroyed: kept for recovery, or removed.
  enum class IfAbandoned : uint8_t { kKeep, kRemove };

  // Fails with kUsage if PATH is a directory, a FIFO that nobody reads, or another user's, or
  // already has a writer; with kNotFound if its directory is missing.
  static Result<OutputFile> create(const std::string& path, IfAbandoned if_abandoned);

  OutputFile(OutputFile&& other) = default;
  OutputFile& operator=(OutputFile&&) = delete;
  ~OutputFile();

  // From now on an uncommitted file is kept, or removed.
  void keep_if_abandoned() { if_abandoned_ = IfAbandoned::kKeep; }
  void remove_if_abandoned() { if_abandoned_ = IfAbandoned::kRemove; }

  // Bytes appended so far.
  uint64_t size() const { return size_; }

  // All of `bytes`, or none.
  Status append(std::span<const uint8_t> bytes);
  // Writes at `offset`, which is not before size(): provisional data that commit() removes, for
  // people who find the file after its writer was killed. May fail midway; unsuitable for a direct
  // file.
  Status write_after_end(uint64_t offset, std::span<const uint8_t> bytes);
  // Removes everything after size(), including reserved space.
  void drop_after_end();
  // Ensures that the next `bytes` bytes fit on the disk, if the file system can promise that.
  // kNoSpace if it cannot.
  Status reserve(uint64_t bytes);
  // Closes the file until the next call that writes, which reopens it: for callers with many files
  // and few descriptors. Meanwhile it is not locked; if another writer takes it over, that call
  // fails with kUsage.
  void rest();
  // Whether its descriptor is one of the last `count` that this process may have.
  bool is_among_last_descriptors(uint32_t count) const {
    return file_ && is_among_last(file_.get(), count);
  }
  // Gives the file its name, and returns unused reserved space. Must be the last call.
  Status commit();

 private:
  OutputFile(std::string path, std::string partial_path, Descriptor file, IfAbandoned if_abandoned);
  static Result<OutputFile> create_direct(const std::string& path);
  Status wake();

  std::string path_;          // if a link, the file that it names
  std::string partial_path_;  // empty when writing to PATH directly
  Descriptor file_;
  uint64_t size_ = 0;
  uint64_t resting_inode_ = 0;
  int64_t resting_bytes_ = 0;
  IfAbandoned if_abandoned_;
};

// Removes the partial file of PATH if it is empty and has no writer.
void remove_empty_partial(const std::string& path);

// Whether `path` is a device, a pipe, or the target of standard output or error: OutputFile writes
// to those directly.
bool is_written_directly(const std::string& path);

// Whether both paths name one regular file, or would if it existed.
bool same_file(const std::string& a, const std::string& b);

// Writes a file in one go, completely or not at all; what a failure leaves behind is removed. Uses
// few system calls if there was no such file.
Status write_whole(const std::string& path, std::span<const uint8_t> bytes);
Status write_file(const std::string& path, std::string_view content);

// All of a file of at most `max_bytes`.
Result<std::string> read_file(const std::string& path, uint64_t max_bytes);

}  // namespace heaptape::base
