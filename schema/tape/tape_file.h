// The bytes of a tape file: checked chunks at known places, and the search for the next chunk
// behind damage. docs/tape-format.md, "File".
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "base/result.h"
#include "schema/tape/chunk.h"
#include "schema/tape/info_codec.h"

namespace heaptape::schema {

// Positioned reads of a regular file. It is not mapped, so that a file cut short meanwhile is an
// error and not a SIGBUS. Move-only; one thread.
class TapeFile {
 public:
  // Opens, and checks nothing of what is inside.
  static base::Result<TapeFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  // As of open() or the last refresh().
  uint64_t bytes() const { return bytes_; }
  void refresh();

  // Exactly out.size() bytes from `offset`, or false.
  bool read_at(uint64_t offset, std::span<uint8_t> out) const;
  // Nothing where no valid chunk header stands.
  std::optional<ChunkHeader> chunk_header_at(uint64_t offset) const;
  // The first place in [from, end) that holds a valid chunk header; `end` if there is none.
  uint64_t find_chunk(uint64_t from, uint64_t end) const;

  // The payload of a chunk, if its header agrees with `chunk` and its checksum is right. For the
  // index, which no other chunk describes, only the kind must agree. Fails with kDamaged; the
  // caller adds the place.
  base::Result<std::vector<uint8_t>> load_frame(const ChunkRef& chunk) const;
  // The same, decompressed.
  base::Result<std::vector<uint64_t>> load_message(const ChunkRef& chunk) const;

 private:
  TapeFile(std::string path, base::Descriptor file, uint64_t bytes);

  std::string path_;
  base::Descriptor file_;
  uint64_t bytes_ = 0;
};

}  // namespace heaptape::schema
