// The bytes of a trace, whatever it is packed in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

struct archive;

namespace heaptape::recorder {

// Reads a file from front to back: plain, or compressed by gzip, zstd, lz4, xz or bzip2, or the one
// file in a zip archive. Memory is that of a window of 512 KiB. Move-only; one thread.
class TraceInput {
 public:
  // A longer line is cut off there.
  static constexpr size_t kMaxLineBytes = size_t{64} << 10;

  // kUsage for a folder or an archive of several files; else as open(2).
  static base::Result<TraceInput> open(const std::string& path);

  // The bytes to come: as many as asked for, fewer only at the end. At most kMaxLineBytes. Valid
  // until the next call.
  std::span<const uint8_t> peek(size_t count);
  // Passes over bytes that peek() gave.
  void skip(size_t count) { begin_ += count; }
  // The next line without its end. Nothing at the end of the trace. Valid until the next call.
  std::optional<std::string_view> next_line();

  // Bytes passed so far, when unpacked.
  uint64_t offset() const { return filled_before_ - (end_ - begin_); }
  uint64_t line_number() const { return line_number_; }  // of the line given last, from 1
  // Is told, now and then, what was read of the file: from 0 to 1.
  void set_progress(std::function<void(double)> progress) { progress_ = std::move(progress); }
  // Why the trace ends before its end; empty where it does not, and before the end was met.
  const std::string& broken() const { return broken_; }

 private:
  struct Closer {
    void operator()(archive* reader) const;
  };
  using Archive = std::unique_ptr<archive, Closer>;

  TraceInput(Archive reader, uint64_t file_bytes)
      : archive_(std::move(reader)), file_bytes_(file_bytes), window_(kWindowBytes) {}

  static constexpr size_t kWindowBytes = 8 * kMaxLineBytes;
  // Adds to the window; false at the end.
  bool fill();
  bool unpack();
  double share() const;
  void pass_line_rest();

  std::function<void(double)> progress_;
  Archive archive_;
  uint64_t file_bytes_;
  std::span<const uint8_t> unpacked_;  // what archive_ gave last, less what is in the window
  std::vector<uint8_t> window_;
  size_t begin_ = 0;  // in window_, as end_: what is unpacked and not passed yet
  size_t end_ = 0;
  uint64_t filled_before_ = 0;  // unpacked so far
  uint64_t line_number_ = 0;
  bool at_end_ = false;
  std::string broken_;
  std::string cut_line_;  // a longer one than allowed
};

}  // namespace heaptape::recorder
