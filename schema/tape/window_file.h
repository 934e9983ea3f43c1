// The last calls on disk: frames in a file without a name. docs/decisions/0049-last-calls.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"

namespace heaptape::schema {

// Serves the windows of all tapes of a recording. Guarantees:
// - The file is never larger than the frames that were in it at one time, each rounded up to 4 KiB:
//   it takes the first room that others left, in several parts if need be. So it needs no support
//   of the file system, and neither offsets nor the disk's room grow with the length of the
//   recording.
// - It has no name, mode 0600, and is gone with its process, however that ends.
// - A frame that comes back is the one that was put there (CRC-32).
// Any thread.
class WindowFile {
 private:
  struct Part {
    uint64_t offset;
    uint64_t bytes;
  };

 public:
  // A frame in the file. Gives its room back when it is destroyed; the file must outlive it.
  class Frame {
   public:
    Frame() = default;
    Frame(Frame&& other) noexcept = default;
    Frame& operator=(Frame&& other) noexcept;
    ~Frame() { give_back(); }

    explicit operator bool() const { return !parts_.empty(); }
    // Replaces what is in `bytes`. Requires a frame.
    base::Status read(std::vector<uint8_t>& bytes) const;

   private:
    friend class WindowFile;

    void give_back();

    WindowFile* file_ = nullptr;
    std::vector<Part> parts_;  // empty: none
    uint64_t bytes_ = 0;       // parts have room for so many, or a little more
    uint32_t crc32_ = 0;
  };

  // In the directory of the tape at `tape_path`.
  static base::Result<std::shared_ptr<WindowFile>> create(const std::string& tape_path);

  // `bytes` are not empty. On failure nothing is kept.
  base::Result<Frame> put(std::span<const uint8_t> bytes);
  // Its size now.
  uint64_t bytes();
  // The first failure to put since the last call, if there was one.
  base::Status take_failure();

 private:
  WindowFile(std::string directory, base::Descriptor file)
      : directory_(std::move(directory)), file_(std::move(file)) {}
  std::vector<Part> take(uint64_t bytes);
  void give_back(std::span<const Part> parts);
  base::Status write(std::span<const Part> parts, std::span<const uint8_t> bytes);

  const std::string directory_;
  const base::Descriptor file_;
  std::mutex mutex_;                   // of what follows
  std::map<uint64_t, uint64_t> free_;  // ends by beginnings; none touches another, or end_
  uint64_t end_ = 0;
  base::Status failure_;
};

}  // namespace heaptape::schema
