// Writes a tape: events in, chunks out. docs/tape-format.md.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"
#include "schema/tape/tape_encoder.h"
#include "schema/tape/tape_output.h"

namespace heaptape::schema {

// Both halves of writing a tape, one after the other in the caller's thread; the guarantees are
// those of TapeOutput. The file is opened at once. (The collector has a thread for each half:
// recorder/collector/tape_writers.h.) One thread.
class TapeWriter : private ChunkSink {
 public:
  // `level`: zstd's.
  static base::Result<std::unique_ptr<TapeWriter>> create(const std::string& path,
                                                          const TapeHeader& header,
                                                          int level = kTapeLevel);

  // For those who only append.
  TapeEncoder& encoder() { return encoder_; }
  // As TapeEncoder has them.
  void append(const Event& event, FrameNumber stack = 0) { encoder_.append(event, stack); }
  void add_time(uint64_t time_ns) { encoder_.add_time(time_ns); }
  void add_end(uint32_t thread) { encoder_.add_end(thread); }
  void add_steering(const SteeringCall& call) { encoder_.add_steering(call); }
  void add_mapping_call(const MappingCall& call) { encoder_.add_mapping_call(call); }
  void add_sample(ProcessSample sample) { encoder_.add_sample(std::move(sample)); }
  void add_mark(std::string name, uint64_t time_ns) { encoder_.add_mark(std::move(name), time_ns); }
  void add_inheritance(const Inheritance& inheritance) {
    output_.add_inheritance(inheritance, compressor_);
  }
  uint64_t add_keyframe(std::span<const EventColumns> keyframe, uint64_t most_bytes) {
    return output_.add_keyframe(keyframe, most_bytes, compressor_);
  }
  // As TapeOutput has them.
  void keep_last(const KeepLast& keep, std::shared_ptr<WindowFile> file = nullptr) {
    output_.keep_last(keep, std::move(file));
  }
  base::Result<TapeSummary> write_copy(const std::string& path, const TapeSummary& summary) {
    encoder_.flush();
    return output_.write_copy(path, summary, compressor_);
  }
  void save() { encoder_.save(); }
  void flush() { encoder_.flush(); }
  uint64_t events() const { return encoder_.events(); }

  // As TapeOutput has them.
  uint64_t bytes() const { return output_.bytes(); }
  const base::Status& status() const { return output_.status(); }
  base::Result<TapeSummary> finish(const TapeSummary& summary);

 private:
  TapeWriter(const std::string& path, const TapeHeader& header, int level)
      : compressor_(level), output_(path, header) {}

  EventColumns write(EventColumns chunk) override;
  void save(EventPart part) override { output_.save(part, compressor_); }
  std::optional<SizeClasses> size_classes(uint64_t chunk_number) const override {
    return output_.size_classes(chunk_number);
  }

  FrameCompressor compressor_;
  TapeOutput output_;
  TapeEncoder encoder_{*this};
};

}  // namespace heaptape::schema
