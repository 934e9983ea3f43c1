
#include <algorithm>
#include <map>
#include <protozero/pbf_writer.hpp>
#include <unordered_map>
#include <utility>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/export/gzip.h"
#include "replayer/export/mapped_modules.h"
#include "replayer/export/stack_formats.h"

namespace heaptape::replayer {
namespace {

using protozero::pbf_writer;

// Field numbers in profile.proto.
enum ProfileField : uint32_t {
  kSampleType = 1,
  kSample = 2,
  kMapping = 3,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6,
  kPeriodType = 11,
  kPeriod = 12,
  kDefaultSampleType = 14,
};
enum ValueTypeField : uint32_t { kType = 1, kUnit = 2 };
enum SampleField : uint32_t { kLocationId = 1, kValue = 2 };
enum MappingField : uint32_t {
  kMappingId = 1,
  kMemoryStart = 2,
  kMemoryLimit = 3,
  kFileOffset = 4,
  kFilename = 5,
  kBuildId = 6,
  kHasFunctions = 7,
  kHasFilenames = 8,
  kHasLineNumbers = 9,
  kHasInlineFrames = 10,
};
enum LocationField : uint32_t { kId = 1, kMappingOfLocation = 2, kAddress = 3, kLine = 4 };
enum LineField : uint32_t { kFunctionId = 1, kLineNumber = 2 };
enum FunctionField : uint32_t { kFunctionOwnId = 1, kName = 2, kSystemName = 3, kFile = 4 };

struct SampleType {
  const char* name;
  const char* unit;
  uint64_t StackTotals::* value;
  StackValue shown;  // the value that selects this type
};
constexpr SampleType kSampleTypes[] = {
    {"peak_bytes", "bytes", &StackTotals::peak_bytes, StackValue::kPeak},
    {"peak_blocks", "count", &StackTotals::peak_count, StackValue::kPeak},
    {"alloc_bytes", "bytes", &StackTotals::asked_bytes, StackValue::kBytes},
    {"alloc_calls", "count", &StackTotals::calls, StackValue::kCalls},
    {"end_bytes", "bytes", &StackTotals::live_bytes, StackValue::kEnd},
    {"temporaries", "count", &StackTotals::temporaries, StackValue::kTemporaries},
    {"mapped_bytes", "bytes", &StackTotals::mapped_bytes, StackValue::kMapped}};

class ProfileWriter {
 public:
  explicit ProfileWriter(const ShownStacks& stacks)
      : stacks_(stacks), profile_(bytes_), modules_(stacks) {}

  std::string write(StackValue shown) {
    string_id("");  // required by the format
    for (const SampleType& type : kSampleTypes) {
      write_value_type(kSampleType, type.name, type.unit);
    }
    write_period();
    for (const ShownStack& stack : stacks_.list()) write_sample(stack);
    uint64_t id = 0;
    for (const MappedModule& module : modules_.list()) write_mapping(++id, module);
    const auto type = std::ranges::find(kSampleTypes, shown, &SampleType::shown);
    profile_.add_int64(kDefaultSampleType, string_id(type->name));
    for (const std::string* text : strings_) profile_.add_string(kStringTable, *text);
    return std::move(bytes_);
  }

 private:
  int64_t string_id(const std::string& text) {
    const auto [it, is_new] = string_ids_.try_emplace(text, strings_.size());
    if (is_new) strings_.push_back(&it->first);
    return static_cast<int64_t>(it->second);
  }

  void write_value_type(ProfileField field, const char* name, const char* unit) {
    std::string bytes;
    pbf_writer out(bytes);
    out.add_int64(kType, string_id(name));
    out.add_int64(kUnit, string_id(unit));
    profile_.add_message(field, bytes);
  }
  // How samples were chosen. The values are already scaled.
  void write_period() {
    const uint64_t every_bytes = stacks_.weight().recording().every_bytes;
    if (every_bytes == 0) return;
    write_value_type(kPeriodType, "space", "bytes");
    profile_.add_int64(kPeriod, as_signed(every_bytes));
  }

  void write_sample(const ShownStack& stack) {
    std::vector<uint64_t> locations;
    for (const ShownFrame frame : stacks_.frames_of(stack)) locations.push_back(location_id(frame));
    if (locations.empty()) {
      locations.push_back(location_without_frames(stacks_.name_without_frames(stack)));
    }
    std::vector<int64_t> values;
    for (const SampleType& type : kSampleTypes) {
      values.push_back(as_signed(stack.totals.*type.value));
    }
    std::string bytes;
    pbf_writer out(bytes);
    out.add_packed_uint64(kLocationId, locations.begin(), locations.end());
    out.add_packed_int64(kValue, values.begin(), values.end());
    profile_.add_message(kSample, bytes);
  }

  uint64_t location_id(ShownFrame frame) {
    const auto [it, is_new] = location_ids_.try_emplace(frame, next_location_);
    if (is_new) write_location(frame, next_location_++);
    return it->second;
  }
  void write_location(ShownFrame frame, uint64_t id) {
    std::string bytes;
    pbf_writer out(bytes);
    out.add_uint64(kId, id);
    const uint32_t module = modules_.find(stacks_.place_of(frame).module);
    if (module != MappedModules::kNone) out.add_uint64(kMappingOfLocation, uint64_t{module} + 1);
    out.add_uint64(kAddress, modules_.address_of(frame.place));
    stacks_.for_each_line(frame, [&](const CodePlace& place, const SourceFrame* source) {
      const std::string file = source == nullptr ? "" : base::valid_utf8(source->file);
      write_line(out, function_id(frame_name(place, source), file),
                 source == nullptr ? 0 : source->line);
    });
    profile_.add_message(kLocation, bytes);
  }
  static void write_line(pbf_writer& location, uint64_t function, uint32_t line) {
    std::string bytes;
    pbf_writer out(bytes);
    out.add_uint64(kFunctionId, function);
    out.add_int64(kLineNumber, line);
    location.add_message(kLine, bytes);
  }
  // For all stacks without frames that have this name.
  uint64_t location_without_frames(const std::string& name) {
    const auto [it, is_new] = ids_without_frames_.try_emplace(name, next_location_);
    if (is_new) {
      ++next_location_;
      std::string bytes;
      pbf_writer out(bytes);
      out.add_uint64(kId, it->second);
      write_line(out, function_id(name, ""), 0);
      profile_.add_message(kLocation, bytes);
    }
    return it->second;
  }

  uint64_t function_id(const std::string& name, const std::string& file) {
    const std::pair key(string_id(name), string_id(file));
    const auto [it, is_new] = function_ids_.try_emplace(key, function_ids_.size() + 1);
    if (is_new) {
      std::string bytes;
      pbf_writer out(bytes);
      out.add_uint64(kFunctionOwnId, it->second);
      out.add_int64(kName, key.first);
      out.add_int64(kSystemName, key.first);
      out.add_int64(kFile, key.second);
      profile_.add_message(kFunction, bytes);
    }
    return it->second;
  }

  // Viewers should not look for symbols of their own.
  void write_mapping(uint64_t id, const MappedModule& module) {
    std::string bytes;
    pbf_writer out(bytes);
    out.add_uint64(kMappingId, id);
    out.add_uint64(kMemoryStart, module.begin);
    out.add_uint64(kMemoryLimit, module.end);
    out.add_uint64(kFileOffset, module.file_offset);
    out.add_int64(kFilename, string_id(base::valid_utf8(module.path)));
    out.add_int64(kBuildId, string_id(base::hex_text(module.build_id)));
    for (const uint32_t has : {kHasFunctions, kHasFilenames, kHasLineNumbers, kHasInlineFrames}) {
      out.add_bool(has, true);
    }
    profile_.add_message(kMapping, bytes);
  }

  const ShownStacks& stacks_;
  std::string bytes_;
  pbf_writer profile_;
  std::unordered_map<std::string, size_t> string_ids_;
  std::vector<const std::string*> strings_;  // by number
  MappedModules modules_;
  std::map<ShownFrame, uint64_t> location_ids_;
  std::map<std::pair<int64_t, int64_t>, uint64_t> function_ids_;  // by name and file
  std::map<std::string, uint64_t> ids_without_frames_;
  uint64_t next_location_ = 1;
};

}  // namespace

std::string pprof_profile(const ShownStacks& stacks, StackValue shown) {
  return gzip(ProfileWriter(stacks).write(shown));
}

}  // namespace heaptape::replayer
