// All on a tape but its calls to malloc: samples, marks, calls that map memory or steer the
// allocator.
#include <functional>
#include <numeric>
#include <utility>

#include "python/arrow/columns.h"
#include "python/tables/tape_tables.h"
#include "schema/tape/tape_reader.h"

namespace heaptape::python {
namespace {

// Each of these tables takes what it has rows of from a batch.
struct SampleRows : Batch {
  Numbers<uint64_t> at{*this, "at"};
  Numbers<uint64_t> time_ns{*this, "timeNs"};
  Numbers<uint64_t> resident{*this, "residentBytes"};
  Numbers<uint64_t> regions{*this, "regions"};
  Numbers<uint64_t> region_bytes{*this, "regionBytes"};
  OptionalNumbers<uint64_t> malloc_bytes{*this, "mallocBytes"};
  Numbers<uint64_t> file_bytes{*this, "fileBytes"};
  Numbers<uint64_t> shared_bytes{*this, "sharedBytes"};
  OptionalNumbers<uint64_t> peak_bytes{*this, "peakBytes"};
  OptionalNumbers<uint64_t> stack_bytes{*this, "stackBytes"};
  Numbers<uint64_t> huge_bytes{*this, "hugeBytes"};

  static std::vector<schema::ProcessSample> take(schema::EventBatch& batch) {
    return std::move(batch.samples);
  }
  void put(const schema::ProcessSample& sample) {
    at.put(sample.event);
    time_ns.put(sample.time_ns);
    resident.put(sample.resident_bytes);
    regions.put(sample.regions.size());
    uint64_t bytes = 0;
    for (const base::AddressRange& region : sample.regions) bytes += region.end - region.begin;
    region_bytes.put(bytes);
    const schema::ProcessParts& parts = sample.parts;
    malloc_bytes.put(parts.malloc_bytes.value_or(0), parts.malloc_bytes.has_value());
    file_bytes.put(parts.file_bytes);
    shared_bytes.put(parts.shared_bytes);
    peak_bytes.put_unless_0(parts.peak_bytes);
    stack_bytes.put(parts.stack_bytes.value_or(0), parts.stack_bytes.has_value());
    huge_bytes.put(parts.huge_bytes);
  }
};

struct SampledOwner {
  uint64_t at = 0;
  uint64_t time_ns = 0;
  schema::OwnedMemory memory = {};
};

struct OwnerRows : Batch {
  Numbers<uint64_t> at{*this, "at"};
  Numbers<uint64_t> time_ns{*this, "timeNs"};
  Texts owner{*this, "owner"};
  Numbers<uint64_t> bytes{*this, "bytes"};

  static std::vector<SampledOwner> take(schema::EventBatch& batch) {
    std::vector<SampledOwner> all;
    for (const schema::ProcessSample& sample : batch.samples) {
      for (const schema::OwnedMemory& one : sample.parts.owners) {
        all.push_back({sample.event, sample.time_ns, one});
      }
    }
    return all;
  }
  void put(const SampledOwner& one) {
    at.put(one.at);
    time_ns.put(one.time_ns);
    owner.put(one.memory.owner);
    bytes.put(one.memory.bytes);
  }
};

struct MarkRows : Batch {
  Numbers<uint64_t> at{*this, "at"};
  Numbers<uint64_t> time_ns{*this, "timeNs"};
  Texts name{*this, "name"};

  static std::vector<schema::Mark> take(schema::EventBatch& batch) {
    return std::move(batch.marks);
  }
  void put(const schema::Mark& mark) {
    at.put(mark.event);
    time_ns.put(mark.time_ns);
    name.put(mark.name);
  }
};

struct MappingRows : Batch {
  Numbers<uint64_t> at{*this, "at"};
  Numbers<uint32_t> thread{*this, "thread"};
  Texts call{*this, "call"};
  Numbers<uint64_t> begin{*this, "begin"};
  Numbers<uint64_t> bytes{*this, "bytes"};
  OptionalNumbers<uint64_t> protection{*this, "protection"};
  OptionalNumbers<uint64_t> flags{*this, "flags"};
  OptionalNumbers<uint64_t> advice{*this, "advice"};
  OptionalNumbers<uint32_t> stack{*this, "stack"};

  static std::vector<schema::MappingCall> take(schema::EventBatch& batch) {
    return std::move(batch.mapped);
  }
  void put(const schema::MappingCall& one) {
    at.put(one.event);
    thread.put(one.thread);
    call.put(schema::mapping_op_name(static_cast<uint64_t>(one.op)));
    begin.put(one.range.begin);
    bytes.put(one.range.bytes());
    // One of mremap(2) has neither; each of mmap(2) has a flag.
    const bool maps = one.op == schema::MappingOp::kMap && one.detail != 0;
    protection.put(one.detail & UINT32_MAX, maps || one.op == schema::MappingOp::kProtect);
    flags.put(one.detail >> 32, maps);
    advice.put(one.detail, one.op == schema::MappingOp::kAdvise);
    stack.put_unless_0(one.stack);
  }
};

struct SteeringRows : Batch {
  Numbers<uint64_t> at{*this, "at"};
  Numbers<uint32_t> thread{*this, "thread"};
  Texts call{*this, "call"};
  OptionalNumbers<int64_t> first{*this, "first"};
  OptionalNumbers<int64_t> second{*this, "second"};

  static std::vector<schema::SteeringCall> take(schema::EventBatch& batch) {
    return std::move(batch.steering);
  }
  void put(const schema::SteeringCall& one) {
    const schema::SteeringInfo info = schema::steering_info(one.op);
    at.put(one.event);
    thread.put(one.thread);
    call.put(info.name);
    first.put(one.first, info.arguments > 0);
    second.put(one.second, info.arguments > 1);
  }
};

// One row for each element of Rows::take(batch).
template <typename Rows>
class SeenSource : public TableSource<Rows> {
 public:
  explicit SeenSource(schema::TapeReader tape) : tape_(std::move(tape)) {}

 private:
  static constexpr size_t kReadEvents = 4096;

  base::Status fill_rows(Rows& rows) override {
    for (;;) {
      for (; next_ < seen_.size() && rows.room() != 0; ++next_) rows.put(seen_[next_]);
      if (next_ < seen_.size() || at_end_) return {};
      HEAPTAPE_RETURN_IF_ERROR(tape_.read(read_, kReadEvents));
      seen_ = Rows::take(read_);
      next_ = 0;
      at_end_ = read_.events.empty();
    }
  }

  schema::TapeReader tape_;
  schema::EventBatch read_;
  decltype(Rows::take(read_)) seen_;
  size_t next_ = 0;  // in seen_
  bool at_end_ = false;
};

template <typename Rows>
NewSource open_seen(const TapePath& tape) {
  HEAPTAPE_ASSIGN_OR_RETURN(schema::TapeReader reader,
                            schema::TapeReader::open(tape.path, tape.on_damage));
  return std::unique_ptr<Source>(std::make_unique<SeenSource<Rows>>(std::move(reader)));
}

}  // namespace

NewSource open_samples(const TapePath& tape) {
  return open_seen<SampleRows>(tape);
}
NewSource open_sample_owners(const TapePath& tape) {
  return open_seen<OwnerRows>(tape);
}
NewSource open_marks(const TapePath& tape) {
  return open_seen<MarkRows>(tape);
}
NewSource open_mapping_calls(const TapePath& tape) {
  return open_seen<MappingRows>(tape);
}
NewSource open_steering_calls(const TapePath& tape) {
  return open_seen<SteeringRows>(tape);
}

}  // namespace heaptape::python
