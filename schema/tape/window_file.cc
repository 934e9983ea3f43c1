#include "schema/tape/window_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <iterator>
#include <utility>

#include "base/address/pages.h"
#include "base/check.h"
#include "base/display_text.h"
#include "base/output_place.h"
#include "schema/tape/chunk.h"

namespace heaptape::schema {
namespace {

constexpr mode_t kMode = 0600;
// Smaller pieces of room would hardly ever lie beside each other once several windows use the file.
constexpr uint64_t kPieceBytes = 4096;

// Some file systems, such as NFS, have no files that never had a name.
base::Descriptor open_unnamed(const std::string& directory) {
  base::Descriptor file(open(directory.c_str(), O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, kMode));
  if (file) return file;
  std::string name = directory + "/.heaptape-XXXXXX";
  file.reset(mkostemp(name.data(), O_CLOEXEC));
  if (file && unlink(name.c_str()) != 0) file.reset();
  return file;
}

}  // namespace

WindowFile::Frame& WindowFile::Frame::operator=(Frame&& other) noexcept {
  std::swap(file_, other.file_);
  std::swap(parts_, other.parts_);
  std::swap(bytes_, other.bytes_);
  std::swap(crc32_, other.crc32_);
  other.give_back();
  return *this;
}

void WindowFile::Frame::give_back() {
  if (!parts_.empty()) file_->give_back(parts_);
  parts_.clear();
}

base::Status WindowFile::Frame::read(std::vector<uint8_t>& bytes) const {
  const auto what = [this] {
    return "cannot read the last calls back from their file in " + base::quoted(file_->directory_);
  };
  bytes.clear();
  for (Part part : parts_) {
    const size_t before = bytes.size();
    part.bytes = std::min(part.bytes, bytes_ - before);
    bytes.resize(before + part.bytes);
    while (part.bytes != 0) {
      const ssize_t got = pread(file_->file_.get(), bytes.data() + bytes.size() - part.bytes,
                                part.bytes, static_cast<off_t>(part.offset));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return base::os_error(what(), errno);
      if (got == 0) return base::Error::damaged(what() + ": it was cut short");
      part.offset += static_cast<uint64_t>(got);
      part.bytes -= static_cast<uint64_t>(got);
    }
  }
  if (crc32_of(bytes) != crc32_) return base::Error::damaged(what() + ": they were changed");
  return {};
}

base::Result<std::shared_ptr<WindowFile>> WindowFile::create(const std::string& tape_path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const std::string target, base::follow_own_links(tape_path));
  std::string directory = std::filesystem::path(target).parent_path();
  if (directory.empty()) directory = ".";
  base::Descriptor file = open_unnamed(directory);
  if (!file) {
    return base::os_error("cannot create a file for the last calls in " + base::quoted(directory),
                          errno);
  }
  return std::shared_ptr<WindowFile>(new WindowFile(std::move(directory), std::move(file)));
}

base::Result<WindowFile::Frame> WindowFile::put(std::span<const uint8_t> bytes) {
  HEAPTAPE_CHECK(!bytes.empty());
  Frame frame;
  frame.file_ = this;
  frame.parts_ = take(base::round_up(bytes.size(), kPieceBytes));
  frame.bytes_ = bytes.size();
  frame.crc32_ = crc32_of(bytes);
  const base::Status written = write(frame.parts_, bytes);
  if (written.ok()) return frame;
  const std::lock_guard lock(mutex_);
  if (failure_.ok()) failure_ = written;
  return written.error();
}

uint64_t WindowFile::bytes() {
  const std::lock_guard lock(mutex_);
  return end_;
}

base::Status WindowFile::take_failure() {
  const std::lock_guard lock(mutex_);
  return std::exchange(failure_, {});
}

// The lowest that are free, so that the end of the file gets free as well.
std::vector<WindowFile::Part> WindowFile::take(uint64_t bytes) {
  std::vector<Part> parts;
  const std::lock_guard lock(mutex_);
  while (bytes != 0 && !free_.empty()) {
    const auto [begin, end] = *free_.begin();
    const uint64_t taken = std::min(bytes, end - begin);
    free_.erase(free_.begin());
    if (taken < end - begin) free_.emplace(begin + taken, end);
    parts.push_back({begin, taken});
    bytes -= taken;
  }
  if (bytes != 0) parts.push_back({end_, bytes});
  end_ += bytes;
  return parts;
}

void WindowFile::give_back(std::span<const Part> parts) {
  const std::lock_guard lock(mutex_);
  for (const Part& part : parts) {
    uint64_t begin = part.offset;
    uint64_t end = part.offset + part.bytes;
    auto next = free_.lower_bound(begin);
    if (next != free_.end() && next->first == end) {
      end = next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == begin) {
      begin = std::prev(next)->first;
      free_.erase(std::prev(next));
    }
    free_.emplace(begin, end);
  }
  if (free_.empty() || std::prev(free_.end())->second != end_) return;
  end_ = std::prev(free_.end())->first;
  free_.erase(std::prev(free_.end()));
  // If this fails, the file is larger than it need be until its end is used again.
  if (ftruncate(file_.get(), static_cast<off_t>(end_)) != 0) return;
}

base::Status WindowFile::write(std::span<const Part> parts, std::span<const uint8_t> bytes) {
  for (Part part : parts) {
    part.bytes = std::min<uint64_t>(part.bytes, bytes.size());
    while (part.bytes != 0) {
      const ssize_t wrote =
          pwrite(file_.get(), bytes.data(), part.bytes, static_cast<off_t>(part.offset));
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote <= 0) {
        return base::os_error("cannot keep the last calls in a file in " + base::quoted(directory_),
                              wrote < 0 ? errno : ENOSPC);
      }
      bytes = bytes.subspan(static_cast<size_t>(wrote));
      part.offset += static_cast<uint64_t>(wrote);
      part.bytes -= static_cast<uint64_t>(wrote);
    }
  }
  return {};
}

}  // namespace heaptape::schema
