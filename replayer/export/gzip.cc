#include "replayer/export/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <new>

#include "base/check.h"

namespace heaptape::replayer {
namespace {

constexpr int kGzipWrapper = 16;        // added to the window's bits
constexpr int kUsualMemory = 8;         // see zlib.h, deflateInit2
constexpr size_t kStepBytes = 1 << 20;  // zlib counts input in 32 bits

}  // namespace

std::string gzip(const std::string& text) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, MAX_WBITS + kGzipWrapper,
                   kUsualMemory, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::bad_alloc();
  }
  std::string packed;
  std::string step(kStepBytes, '\0');
  size_t taken = 0;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const size_t count = std::min(text.size() - taken, kStepBytes);
    const bool is_last = taken + count == text.size();
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data() + taken));
    stream.avail_in = static_cast<uInt>(count);
    do {
      stream.next_out = reinterpret_cast<Bytef*>(step.data());
      stream.avail_out = static_cast<uInt>(step.size());
      status = deflate(&stream, is_last ? Z_FINISH : Z_NO_FLUSH);
      HEAPTAPE_CHECK(status != Z_STREAM_ERROR);
      packed.append(step, 0, step.size() - stream.avail_out);
    } while (stream.avail_out == 0);
    taken += count;
  }
  deflateEnd(&stream);
  return packed;
}

}  // namespace heaptape::replayer
