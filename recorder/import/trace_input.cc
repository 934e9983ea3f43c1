#include "recorder/import/trace_input.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/display_text.h"

namespace heaptape::recorder {
namespace {

using base::Error;

std::string reason_of(archive* reader) {
  const char* const text = archive_error_string(reader);
  return base::display_text(text == nullptr ? "it cannot be unpacked" : text);
}

base::Result<uint64_t> file_bytes(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) != 0) {
    return base::os_error("cannot read " + base::quoted(path), errno);
  }
  if (S_ISDIR(status.st_mode))
    return Error::usage(base::quoted(path) + " is a directory: name a trace");
  return static_cast<uint64_t>(status.st_size);
}

// Positions the archive at its file; nothing if it holds only directories.
int find_content(archive* reader) {
  archive_entry* entry = nullptr;
  int found = ARCHIVE_OK;
  do {
    found = archive_read_next_header(reader, &entry);
  } while (found == ARCHIVE_OK && archive_entry_filetype(entry) == AE_IFDIR);
  return found;
}

bool has_another(archive* reader) {
  return archive_format(reader) != ARCHIVE_FORMAT_RAW && find_content(reader) == ARCHIVE_OK;
}

}  // namespace

void TraceInput::Closer::operator()(archive* reader) const {
  archive_read_free(reader);
}

base::Result<TraceInput> TraceInput::open(const std::string& path) {
  HEAPTAPE_ASSIGN_OR_RETURN(const uint64_t bytes, file_bytes(path));
  Archive reader(archive_read_new());
  if (!reader) return Error{base::ErrorCode::kIo, "no memory is left to read a trace"};
  archive_read_support_filter_gzip(reader.get());
  archive_read_support_filter_zstd(reader.get());
  archive_read_support_filter_lz4(reader.get());
  archive_read_support_filter_xz(reader.get());
  archive_read_support_filter_bzip2(reader.get());
  archive_read_support_format_zip_streamable(reader.get());
  archive_read_support_format_raw(reader.get());
  archive_read_support_format_empty(reader.get());
  constexpr size_t kBlockBytes = size_t{128} << 10;
  if (archive_read_open_filename(reader.get(), path.c_str(), kBlockBytes) != ARCHIVE_OK) {
    const int code = archive_errno(reader.get());
    if (code > 0) return base::os_error("cannot read " + base::quoted(path), code);
    return Error::damaged(base::quoted(path) + " cannot be unpacked: " + reason_of(reader.get()));
  }
  const int found = find_content(reader.get());
  TraceInput input(std::move(reader), bytes);
  if (found == ARCHIVE_EOF) {
    input.at_end_ = true;
  } else if (found < ARCHIVE_WARN) {
    return Error::damaged(base::quoted(path) +
                          " cannot be unpacked: " + reason_of(input.archive_.get()));
  }
  return input;
}

// Reads by blocks: archive_read_data() would withhold what it unpacked before the trace breaks off.
bool TraceInput::unpack() {
  const void* data = nullptr;
  size_t bytes = 0;
  la_int64_t offset = 0;
  int result = ARCHIVE_OK;
  while (result == ARCHIVE_OK && bytes == 0) {
    result = archive_read_data_block(archive_.get(), &data, &bytes, &offset);
  }
  if (progress_) progress_(share());
  unpacked_ = {static_cast<const uint8_t*>(data), bytes};
  if (result == ARCHIVE_OK) return true;
  at_end_ = true;
  if (result != ARCHIVE_EOF) {
    broken_ = reason_of(archive_.get());
  } else if (has_another(archive_.get())) {
    broken_ = "the archive has other files after it, which are ignored";
  }
  return bytes != 0;
}

bool TraceInput::fill() {
  if (unpacked_.empty() && (at_end_ || !unpack())) return false;
  std::memmove(window_.data(), window_.data() + begin_, end_ - begin_);
  end_ -= begin_;
  begin_ = 0;
  const size_t count = std::min(unpacked_.size(), window_.size() - end_);
  std::memcpy(window_.data() + end_, unpacked_.data(), count);
  unpacked_ = unpacked_.subspan(count);
  end_ += count;
  filled_before_ += count;
  return true;
}

std::span<const uint8_t> TraceInput::peek(size_t count) {
  while (end_ - begin_ < count && fill()) {
  }
  return {window_.data() + begin_, std::min(count, end_ - begin_)};
}

void TraceInput::pass_line_rest() {
  for (;;) {
    const void* const found = std::memchr(window_.data() + begin_, '\n', end_ - begin_);
    if (found != nullptr) {
      begin_ = static_cast<size_t>(static_cast<const uint8_t*>(found) - window_.data()) + 1;
      return;
    }
    begin_ = end_;
    if (!fill()) return;
  }
}

std::optional<std::string_view> TraceInput::next_line() {
  const uint8_t* found = nullptr;
  while (found == nullptr) {
    found = static_cast<const uint8_t*>(std::memchr(window_.data() + begin_, '\n', end_ - begin_));
    if (found != nullptr || end_ - begin_ >= kMaxLineBytes || !fill()) break;
  }
  if (begin_ == end_) return std::nullopt;
  ++line_number_;
  size_t bytes =
      found == nullptr ? end_ - begin_ : static_cast<size_t>(found - (window_.data() + begin_));
  if (bytes >= kMaxLineBytes) {
    // A truncated line cannot be a call, so it is malformed whatever follows.
    const std::string_view line(reinterpret_cast<const char*>(window_.data() + begin_),
                                kMaxLineBytes);
    begin_ += kMaxLineBytes;
    cut_line_.assign(line);
    pass_line_rest();
    return cut_line_;
  }
  const std::string_view line(reinterpret_cast<const char*>(window_.data() + begin_), bytes);
  begin_ += bytes + (found == nullptr ? 0 : 1);
  return line.ends_with('\r') ? line.substr(0, line.size() - 1) : line;
}

double TraceInput::share() const {
  if (file_bytes_ == 0) return 0;
  const auto read = static_cast<double>(archive_filter_bytes(archive_.get(), -1));
  return std::min(1.0, read / static_cast<double>(file_bytes_));
}

}  // namespace heaptape::recorder
