// The bytes of a trace, however it is packed.
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
// file in a zip archive. Memory is a window of 512 KiB. Move-only; one thread.
class TraceInput {
 public:
  // Longer lines are truncated.
  static constexpr size_t kMaxLineBytes = size_t{64} << 10;

  // kUsage for a directory or an archive of several files; else as open(2).
  static base::Result<TraceInput> open(const std::string& path);

  // The bytes to come: as many as requested, fewer only at the end. At most kMaxLineBytes. Valid
  // until the next call.
  std::span<const uint8_t> peek(size_t count);
  // Consumes bytes that peek() returned.
  void skip(size_t count) { begin_ += count; }
  // The next line without its end; nothing at the end of the trace. Valid until the next call.
  std::optional<std::string_view> next_line();

  // Bytes consumed so far, when unpacked.
  uint64_t offset() const { return filled_before_ - (end_ - begin_); }
  uint64_t line_number() const { return line_number_; }  // of the last line, from 1
  // Is told the share of the file read so far, from 0 to 1.
  void set_progress(std::function<void(double)> progress) { progress_ = std::move(progress); }
  // Why the trace ended early; empty if it did not, or has not ended yet.
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
  std::span<const uint8_t> unpacked_;  // returned last by archive_, less what is in the window
  std::vector<uint8_t> window_;
  size_t begin_ = 0;  // in window_, as end_: unpacked and not consumed yet
  size_t end_ = 0;
  uint64_t filled_before_ = 0;  // unpacked so far
  uint64_t line_number_ = 0;
  bool at_end_ = false;
  std::string broken_;
  std::string cut_line_;  // a line over the limit
};

}  // namespace heaptape::recorder
