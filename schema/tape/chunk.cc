#include "schema/tape/chunk.h"

#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <string>

#include "base/check.h"

namespace heaptape::schema {
namespace {

static_assert(std::endian::native == std::endian::little, "the stored integers are little-endian");

template <typename T>
void store(uint8_t* at, T value) {
  std::memcpy(at, &value, sizeof value);
}
template <typename T>
T load(const uint8_t* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

uint32_t crc32_of(std::span<const uint8_t> bytes) {
  return static_cast<uint32_t>(crc32_z(0, bytes.data(), bytes.size()));
}

ChunkHeaderBytes pack(const ChunkHeader& header) {
  ChunkHeaderBytes out{};
  store(&out[0], kChunkMarker);
  store(&out[4], static_cast<uint32_t>(header.kind));
  store(&out[8], header.payload_bytes);
  store(&out[12], header.event_count);
  store(&out[16], header.first_event);
  store(&out[24], header.payload_crc32);
  store(&out[28], crc32_of({out.data(), 28}));
  return out;
}

std::optional<ChunkHeader> unpack_chunk_header(std::span<const uint8_t, kChunkHeaderBytes> bytes) {
  if (load<uint32_t>(&bytes[0]) != kChunkMarker) return std::nullopt;
  if (load<uint32_t>(&bytes[28]) != crc32_of(bytes.first(28))) return std::nullopt;
  ChunkHeader header;
  header.kind = static_cast<ChunkKind>(load<uint32_t>(&bytes[4]));
  header.payload_bytes = load<uint32_t>(&bytes[8]);
  header.event_count = load<uint32_t>(&bytes[12]);
  header.first_event = load<uint64_t>(&bytes[16]);
  header.payload_crc32 = load<uint32_t>(&bytes[24]);
  if (header.payload_bytes > kMaxPayloadBytes || header.event_count > kMaxEventsPerChunk ||
      header.first_event > UINT64_MAX - header.event_count) {
    return std::nullopt;
  }
  return header;
}

std::array<uint8_t, kPreambleBytes> pack_preamble() {
  std::array<uint8_t, kPreambleBytes> out{};
  std::memcpy(out.data(), kMagic, sizeof kMagic);
  store(&out[8], kMajorVersion);
  store(&out[10], kMinorVersion);
  store(&out[12], crc32_of({out.data(), 12}));
  return out;
}

base::Status check_preamble(std::span<const uint8_t> bytes) {
  if (bytes.size() < sizeof kMagic || std::memcmp(bytes.data(), kMagic, sizeof kMagic) != 0) {
    return base::Error::foreign("it is not a heaptape tape").at(0);
  }
  if (bytes.size() < kPreambleBytes) {
    return base::Error::damaged("it ends within its first 16 bytes").at(bytes.size());
  }
  if (load<uint32_t>(&bytes[12]) != crc32_of(bytes.first(12))) {
    return base::Error::damaged("the checksum of its first 16 bytes does not match").at(0);
  }
  const auto major = load<uint16_t>(&bytes[8]);
  if (major > kMajorVersion) {
    return base::Error::newer_version("it is in tape format " + std::to_string(major) + "." +
                                      std::to_string(load<uint16_t>(&bytes[10])) +
                                      " and this heaptape reads up to " +
                                      std::to_string(kMajorVersion) + ".x: use a newer heaptape")
        .at(8);
  }
  return {};
}

std::array<uint8_t, kTrailerBytes> pack_trailer(uint64_t index_offset) {
  std::array<uint8_t, kTrailerBytes> out{};
  store(&out[0], index_offset);
  store(&out[8], kTrailerMarker);
  store(&out[12], crc32_of({out.data(), 12}));
  return out;
}

std::optional<uint64_t> unpack_trailer(std::span<const uint8_t, kTrailerBytes> bytes) {
  if (load<uint32_t>(&bytes[8]) != kTrailerMarker) return std::nullopt;
  if (load<uint32_t>(&bytes[12]) != crc32_of(bytes.first(12))) return std::nullopt;
  return load<uint64_t>(&bytes[0]);
}

struct FrameCompressor::Context {
  ZSTD_CCtx* zstd = ZSTD_createCCtx();
  ~Context() { ZSTD_freeCCtx(zstd); }
};

FrameCompressor::FrameCompressor(int level) : context_(std::make_unique<Context>()) {
  HEAPTAPE_CHECK(context_->zstd != nullptr);
  ZSTD_CCtx_setParameter(context_->zstd, ZSTD_c_compressionLevel, level);
}

FrameCompressor::~FrameCompressor() = default;

std::span<const uint8_t> FrameCompressor::compress(std::span<const uint64_t> words) {
  return compress_bytes({reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()});
}

std::span<const uint8_t> FrameCompressor::compress_bytes(std::span<const uint8_t> bytes) {
  frame_.resize(std::max(frame_.size(), ZSTD_compressBound(bytes.size())));
  ZSTD_CCtx_reset(context_->zstd, ZSTD_reset_session_only);
  const size_t size =
      ZSTD_compress2(context_->zstd, frame_.data(), frame_.size(), bytes.data(), bytes.size());
  HEAPTAPE_CHECK(!ZSTD_isError(size));
  return {frame_.data(), size};
}

base::Result<std::vector<uint64_t>> decompress_frame(std::span<const uint8_t> frame) {
  const unsigned long long size = ZSTD_getFrameContentSize(frame.data(), frame.size());
  if (size == ZSTD_CONTENTSIZE_ERROR || size == ZSTD_CONTENTSIZE_UNKNOWN) {
    return base::Error::damaged("its payload is not a zstd frame of known size");
  }
  if (size > kMaxMessageBytes || size % sizeof(uint64_t) != 0) {
    return base::Error::damaged("its message has an impossible size of " + std::to_string(size) +
                                " bytes");
  }
  if (ZSTD_findFrameCompressedSize(frame.data(), frame.size()) != frame.size()) {
    return base::Error::damaged("its payload is not exactly one zstd frame");
  }
  std::vector<uint64_t> words(size / sizeof(uint64_t));
  const size_t got = ZSTD_decompress(words.data(), size, frame.data(), frame.size());
  if (ZSTD_isError(got) || got != size)
    return base::Error::damaged("its payload does not decompress");
  return words;
}

}  // namespace heaptape::schema
