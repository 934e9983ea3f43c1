#include "schema/tape/tape_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/display_text.h"

namespace heaptape::schema {
namespace {

constexpr const char* kBeginning =
    " is empty: the recording has only begun, or its recorder was killed before it held a call";

}  // namespace

TapeFile::TapeFile(std::string path, base::Descriptor file, uint64_t bytes)
    : path_(std::move(path)), file_(std::move(file)), bytes_(bytes) {}

base::Result<TapeFile> TapeFile::open(const std::string& path) {
  base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) {
    base::Error error = base::os_error("cannot open " + base::quoted(path), errno);
    const std::string partial = path + ".partial";
    if (struct stat info{}; stat(partial.c_str(), &info) == 0) {
      error.message +=
          "; " + base::quoted(partial) +
          (info.st_size == 0 ? kBeginning
                             : " is a recording that is still running or was cut short");
    }
    return error;
  }
  struct stat info{};
  if (fstat(file.get(), &info) != 0)
    return base::os_error("cannot open " + base::quoted(path), errno);
  if (!S_ISREG(info.st_mode)) {
    return base::Error::foreign(base::quoted(path) +
                                " is not a regular file; name the file of a tape");
  }
  if (info.st_size == 0 && path.ends_with(".partial")) {
    return base::Error::foreign(base::quoted(path) + kBeginning);
  }
  return TapeFile(path, std::move(file), static_cast<uint64_t>(info.st_size));
}

void TapeFile::refresh() {
  struct stat info{};
  if (fstat(file_.get(), &info) == 0) bytes_ = static_cast<uint64_t>(info.st_size);
}

bool TapeFile::read_at(uint64_t offset, std::span<uint8_t> out) const {
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        pread(file_.get(), out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = 0;  // no error, but the end
    if (got <= 0) return false;
    done += static_cast<size_t>(got);
  }
  return true;
}

std::optional<ChunkHeader> TapeFile::chunk_header_at(uint64_t offset) const {
  ChunkHeaderBytes bytes;
  if (!read_at(offset, bytes)) return std::nullopt;
  return unpack_chunk_header(bytes);
}

uint64_t TapeFile::find_chunk(uint64_t from, uint64_t end) const {
  uint8_t marker[4];
  std::memcpy(marker, &kChunkMarker, sizeof marker);
  std::vector<uint8_t> window(1 << 16);
  for (uint64_t at = from; at < end;) {
    const auto size = static_cast<size_t>(std::min<uint64_t>(window.size(), end - at));
    if (!read_at(at, {window.data(), size})) return end;
    const auto window_end = window.begin() + static_cast<ptrdiff_t>(size);
    for (auto found = window.begin();; ++found) {
      found = std::search(found, window_end, marker, marker + sizeof marker);
      if (found == window_end) break;
      const uint64_t offset = at + static_cast<uint64_t>(found - window.begin());
      if (chunk_header_at(offset)) return offset;
    }
    if (size < window.size()) break;
    at += size - (sizeof marker - 1);  // a marker may lie across two windows
  }
  return end;
}

base::Result<std::vector<uint8_t>> TapeFile::load_frame(const ChunkRef& chunk) const {
  const auto header = chunk_header_at(chunk.offset);
  if (!header) return base::Error::damaged("these bytes are not a chunk");
  const bool same_events =
      header->event_count == chunk.event_count && header->first_event == chunk.first_event;
  if (header->kind != chunk.kind || (!same_events && chunk.kind != ChunkKind::kIndex)) {
    return base::Error::damaged("this chunk is not the one that the index names");
  }
  std::vector<uint8_t> frame(header->payload_bytes);
  if (!read_at(chunk.offset + kChunkHeaderBytes, frame)) {
    return base::Error::damaged(errno == 0 ? std::string("the file ends inside this chunk")
                                           : base::os_error("it cannot be read", errno).message);
  }
  if (crc32_of(frame) != header->payload_crc32) {
    return base::Error::damaged("its checksum does not match");
  }
  return frame;
}

base::Result<std::vector<uint64_t>> TapeFile::load_message(const ChunkRef& chunk) const {
  HEAPTAPE_ASSIGN_OR_RETURN(const auto frame, load_frame(chunk));
  return decompress_frame(frame);
}

}  // namespace heaptape::schema
