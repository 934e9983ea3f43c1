#include "schema/tape/tape_writer.h"

#include <utility>

namespace heaptape::schema {

base::Result<std::unique_ptr<TapeWriter>> TapeWriter::create(const std::string& path,
                                                             const TapeHeader& header, int level) {
  std::unique_ptr<TapeWriter> writer(new TapeWriter(path, header, level));
  HEAPTAPE_RETURN_IF_ERROR(writer->output_.open(writer->compressor_));
  return writer;
}

EventColumns TapeWriter::write(EventColumns chunk) {
  output_.write(chunk, compressor_);
  chunk.clear();
  return chunk;
}

base::Result<TapeSummary> TapeWriter::finish(const TapeSummary& summary) {
  return output_.finish(encoder_.take_rest(), summary, compressor_);
}

}  // namespace heaptape::schema
