#include <algorithm>
#include <array>
#include <optional>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "replayer/export/call_nodes.h"
#include "replayer/export/history_formats.h"
#include "replayer/export/mapped_modules.h"

namespace heaptape::replayer {

// Named, because files are compiled together.
namespace perfetto {
namespace {

using protozero::pbf_writer;

// Field numbers in trace_packet.proto and the files that it imports.
enum TraceField : uint32_t { kPacket = 1 };
enum PacketField : uint32_t {
  kClockSnapshot = 6,
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kProfilePacket = 37,
  kTrackDescriptor = 60,
};
enum ClockSnapshotField : uint32_t { kClocks = 1, kPrimaryClock = 2 };
enum ClockField : uint32_t { kClockId = 1, kClockTimestamp = 2 };
enum TrackField : uint32_t {
  kTrackUuid = 1,
  kTrackName = 2,
  kTrackProcess = 3,
  kTrackParent = 5,
  kTrackCounter = 8,
};
enum ProcessField : uint32_t { kPid = 1, kProcessName = 6 };
enum CounterField : uint32_t { kUnit = 3 };
enum EventField : uint32_t {
  kEventType = 9,
  kEventTrack = 11,
  kEventCategories = 22,
  kEventName = 23,
  kCounterValue = 30,
};
enum InternedField : uint32_t {
  kFunctionNames = 5,
  kFrames = 6,
  kCallstacks = 7,
  kBuildIds = 16,
  kMappingPaths = 17,
  kSourcePaths = 18,
  kMappings = 19,
};
enum StringField : uint32_t { kIid = 1, kStr = 2 };  // kIid is 1 in all that is interned
enum MappingField : uint32_t {
  kMappingBuildId = 2,
  kStartOffset = 3,
  kStart = 4,
  kEnd = 5,
  kPathStringIds = 7,
  kExactOffset = 8,
};
enum FrameField : uint32_t {
  kFunctionNameId = 2,
  kMappingId = 3,
  kRelPc = 4,
  kSourcePathIid = 5,
  kLineNumber = 6,
};
enum CallstackField : uint32_t { kFrameIds = 2 };
enum ProfileField : uint32_t { kProcessDumps = 5, kContinued = 6, kIndex = 7 };
enum DumpField : uint32_t {
  kDumpPid = 1,
  kSamples = 2,
  kDumpTimestamp = 9,
  kHeapName = 11,
  kSamplingInterval = 12,
  kOriginalInterval = 13,
};
enum SampleField : uint32_t {
  kCallstackId = 1,
  kSelfAllocated = 2,
  kSelfFreed = 3,
  kAllocCount = 5,
  kFreeCount = 6,
};

constexpr uint32_t kSequence = 1;
constexpr uint32_t kStateCleared = 1;  // SEQ_INCREMENTAL_STATE_CLEARED
constexpr uint32_t kNeedsState = 2;    // SEQ_NEEDS_INCREMENTAL_STATE
constexpr uint32_t kRealtime = 1;      // clocks, as in builtin_clock.proto
constexpr uint32_t kMonotonic = 3;
constexpr uint32_t kMonotonicCoarse = 4;
constexpr uint32_t kBoottime = 6;
constexpr int kInstant = 3;  // TrackEvent.Type
constexpr int kCounter = 4;
constexpr int kUnitCount = 2;  // CounterDescriptor.Unit
constexpr int kUnitBytes = 3;
constexpr uint64_t kProcessTrack = 1;
constexpr uint64_t kMomentTrack = 2;
constexpr uint64_t kFirstCounterTrack = 3;
// Interned data and samples come in packets of so many.
constexpr size_t kMostInPacket = 4096;

// Numbers things from 1 and keeps what is to be written of each.
class Interned {
 public:
  explicit Interned(InternedField field) : field_(field) {}

  // Calls fill(message) if `key` is new.
  template <typename Fill>
  uint64_t id(const std::string& key, Fill fill) {
    const auto [it, is_new] = ids_.try_emplace(key, ids_.size() + 1);
    if (is_new) add(it->second, fill);
    return it->second;
  }
  uint64_t string_id(const std::string& bytes) {
    return id(bytes, [&bytes](pbf_writer& out) { out.add_bytes(kStr, bytes); });
  }
  template <typename Fill>
  void add(uint64_t id, Fill fill) {
    std::string bytes;
    pbf_writer out(bytes);
    out.add_uint64(kIid, id);
    fill(out);
    messages_.push_back(std::move(bytes));
  }
  InternedField field() const { return field_; }
  const std::vector<std::string>& messages() const { return messages_; }

 private:
  InternedField field_;
  std::unordered_map<std::string, uint64_t> ids_;
  std::vector<std::string> messages_;
};

// The stacks, each of which is the callstack of its node: the index of that, from 1.
class InternedStacks {
 public:
  explicit InternedStacks(const ShownStacks& stacks)
      : modules_(stacks), nodes_(stacks, [this](const CallLine& line) { return frame_id(line); }) {
    std::vector<bool> written(nodes_.list().size());
    for (const ShownStack& stack : stacks.list()) {
      const uint32_t node = nodes_.find(stack.number);
      if (!written[node]) write_callstack(node);
      written[node] = true;
    }
  }

  const CallNodes& nodes() const { return nodes_; }
  // Each refers to earlier ones only.
  std::array<const Interned*, 7> all() const {
    return {&functions_, &files_, &paths_, &build_ids_, &mappings_, &frames_, &callstacks_};
  }

 private:
  uint32_t frame_id(const CallLine& line) {
    const uint32_t module =
        line.place == nullptr ? MappedModules::kNone : modules_.find(line.place->module);
    const uint64_t mapping = mapping_id(module);
    const uint64_t pc = module == MappedModules::kNone ? 0 : relative_pc(module, line.place_index);
    // A reader takes frames of the same mapping, place and name for one.
    const std::string key = std::to_string(mapping) + " " + std::to_string(pc) + " " + line.name;
    return static_cast<uint32_t>(frames_.id(key, [&](pbf_writer& out) {
      out.add_uint64(kFunctionNameId, functions_.string_id(line.name));
      out.add_uint64(kMappingId, mapping);
      out.add_uint64(kRelPc, pc);
      if (line.source == nullptr || line.source->file.empty()) return;
      out.add_uint64(kSourcePathIid, files_.string_id(base::valid_utf8(line.source->file)));
      if (line.source->line != 0) out.add_uint32(kLineNumber, line.source->line);
    }));
  }
  uint64_t relative_pc(uint32_t module, uint32_t place) const {
    const MappedModule& of = modules_.list()[module];
    const uint64_t address = modules_.address_of(place);
    return address < of.begin ? 0 : address - of.begin + of.file_offset;
  }
  // Code of no module has a mapping without a path: not every reader takes frames without one.
  uint64_t mapping_id(uint32_t module) {
    return mappings_.id(std::to_string(module), [&](pbf_writer& out) {
      if (module == MappedModules::kNone) return;
      const MappedModule& of = modules_.list()[module];
      out.add_uint64(kMappingBuildId, build_ids_.string_id(of.build_id));
      out.add_uint64(kStartOffset, of.file_offset);
      out.add_uint64(kExactOffset, of.file_offset);
      out.add_uint64(kStart, of.begin);
      out.add_uint64(kEnd, of.end);
      // A reader puts a slash before each part.
      const std::string path = base::valid_utf8(of.path);
      out.add_uint64(kPathStringIds, paths_.string_id(path.substr(path.starts_with('/') ? 1 : 0)));
    });
  }
  void write_callstack(uint32_t node) {
    std::vector<uint64_t> frames;
    for (uint32_t at = node; at != CallNodes::kNone; at = nodes_.list()[at].parent) {
      frames.push_back(nodes_.list()[at].frame);
    }
    callstacks_.add(uint64_t{node} + 1, [&frames](pbf_writer& out) {
      for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
        out.add_uint64(kFrameIds, *frame);
      }
    });
  }

  MappedModules modules_;
  Interned functions_{kFunctionNames};
  Interned files_{kSourcePaths};
  Interned paths_{kMappingPaths};
  Interned build_ids_{kBuildIds};
  Interned mappings_{kMappings};
  Interned frames_{kFrames};
  Interned callstacks_{kCallstacks};
  CallNodes nodes_;
};

class TraceWriter {
 public:
  TraceWriter(const RecordedProcess& process, const HeapHistory& history)
      // In a trace, 0 is the kernel's idle task.
      : process_(process), history_(history), pid_(process.pid == 0 ? 1 : process.pid) {}

  std::string write(const ShownStacks* stacks) {
    write_clocks();
    write_tracks();
    add_counters();
    add_instants();
    if (stacks != nullptr) {
      const InternedStacks interned(*stacks);
      for (const Interned* list : interned.all()) write_interned(*list);
      add_dumps(interned.nodes(), stacks->weight());
    }
    std::ranges::stable_sort(timed_, {}, &Timed::time_ns);
    for (const Timed& packet : timed_) append(packet.bytes);
    return std::move(trace_);
  }

 private:
  // A packet that is to be in its place by time.
  struct Timed {
    uint64_t time_ns;
    std::string bytes;
  };

  void append(const std::string& packet) { pbf_writer(trace_).add_message(kPacket, packet); }
  template <typename Fill>
  static std::string packet(uint32_t flags, std::optional<uint64_t> time_ns, Fill fill) {
    std::string bytes;
    pbf_writer out(bytes);
    if (time_ns) out.add_uint64(kTimestamp, *time_ns);
    out.add_uint32(kSequenceId, kSequence);
    if (flags != 0) out.add_uint32(kSequenceFlags, flags);
    fill(out);
    return bytes;
  }

  // Packets and heap profiles have different clocks: both begin with the recording.
  void write_clocks() {
    append(packet(kStateCleared, 0, [this](pbf_writer& out) {
      pbf_writer snapshot(out, kClockSnapshot);
      const auto add_clock = [&snapshot](uint32_t id, uint64_t time_ns) {
        pbf_writer clock(snapshot, kClocks);
        clock.add_uint32(kClockId, id);
        clock.add_uint64(kClockTimestamp, time_ns);
      };
      for (const uint32_t id : {kBoottime, kMonotonic, kMonotonicCoarse}) add_clock(id, 0);
      if (process_.start_unix_ns != 0) add_clock(kRealtime, process_.start_unix_ns);
      snapshot.add_enum(kPrimaryClock, kBoottime);
    }));
  }

  template <typename Fill>
  void write_track(uint64_t uuid, const std::string& name, Fill fill) {
    append(packet(0, std::nullopt, [&](pbf_writer& out) {
      pbf_writer track(out, kTrackDescriptor);
      track.add_uint64(kTrackUuid, uuid);
      track.add_string(kTrackName, name);
      if (uuid != kProcessTrack) track.add_uint64(kTrackParent, kProcessTrack);
      fill(track);
    }));
  }
  void write_tracks() {
    write_track(kProcessTrack, process_.name, [this](pbf_writer& track) {
      pbf_writer process(track, kTrackProcess);
      process.add_int32(kPid, static_cast<int32_t>(pid_));
      process.add_string(kProcessName, process_.name);
    });
    write_track(kMomentTrack, "marks and moments", [](pbf_writer&) {});
    uint64_t uuid = kFirstCounterTrack;
    for (const HistorySeries& series : history_.series) {
      write_track(uuid++, series.name, [&series](pbf_writer& track) {
        pbf_writer counter(track, kTrackCounter);
        counter.add_enum(kUnit, series.is_bytes ? kUnitBytes : kUnitCount);
      });
    }
  }

  template <typename Fill>
  void add_event(uint64_t time_ns, int type, uint64_t track, Fill fill) {
    timed_.push_back({time_ns, packet(0, time_ns, [&](pbf_writer& out) {
                        pbf_writer event(out, kTrackEvent);
                        event.add_enum(kEventType, type);
                        event.add_uint64(kEventTrack, track);
                        fill(event);
                      })});
  }
  void add_counters() {
    uint64_t uuid = kFirstCounterTrack;
    for (const HistorySeries& series : history_.series) {
      for (const HistoryPoint& point : series.points) {
        add_event(point.time_ns, kCounter, uuid, [&point](pbf_writer& event) {
          event.add_int64(kCounterValue, as_signed(point.value));
        });
      }
      ++uuid;
    }
  }
  void add_instants() {
    const auto add = [this](uint64_t time_ns, const char* category, const std::string& name) {
      add_event(time_ns, kInstant, kMomentTrack, [&](pbf_writer& event) {
        event.add_string(kEventCategories, category);
        event.add_string(kEventName, name);
      });
    };
    for (const HistoryMark& mark : history_.marks) add(mark.time_ns, "mark", mark.name);
    for (const HeapMoment& moment : history_.moments) {
      if (!moment.name.empty() && !moment.name.starts_with(kMarkPrefix)) {
        add(moment.time_ns, "moment", moment.name);
      }
    }
  }

  void write_interned(const Interned& list) {
    const std::vector<std::string>& messages = list.messages();
    for (size_t from = 0; from < messages.size(); from += kMostInPacket) {
      append(packet(kNeedsState, std::nullopt, [&](pbf_writer& out) {
        pbf_writer data(out, kInternedData);
        const size_t until = std::min(from + kMostInPacket, messages.size());
        for (size_t i = from; i < until; ++i) data.add_message(list.field(), messages[i]);
      }));
    }
  }

  // Samples are sums since the recording began; those that did not change are left out.
  void add_dumps(const CallNodes& nodes, const SampleWeight& weight) {
    NodeStates states(nodes, history_);
    for (const HeapMoment& moment : history_.moments) {
      const std::vector<uint32_t> changed = states.step();
      for (size_t from = 0; from < changed.size(); from += kMostInPacket) {
        const size_t until = std::min(from + kMostInPacket, changed.size());
        timed_.push_back({moment.time_ns, packet(kNeedsState, moment.time_ns, [&](auto& out) {
                            pbf_writer profile(out, kProfilePacket);
                            if (until < changed.size()) profile.add_bool(kContinued, true);
                            profile.add_uint64(kIndex, dumps_++);
                            pbf_writer dump(profile, kProcessDumps);
                            write_dump_head(dump, moment.time_ns, weight);
                            for (size_t i = from; i < until; ++i) {
                              write_sample(dump, changed[i], states.of(changed[i]));
                            }
                          })});
      }
    }
  }
  void write_dump_head(pbf_writer& dump, uint64_t time_ns, const SampleWeight& weight) const {
    dump.add_uint64(kDumpPid, pid_);
    dump.add_uint64(kDumpTimestamp, time_ns);
    dump.add_string(kHeapName, "libc.malloc");  // as viewers know it
    const uint64_t every = std::max<uint64_t>(weight.recording().every_bytes, 1);
    dump.add_uint64(kSamplingInterval, every);
    dump.add_uint64(kOriginalInterval, every);
  }
  static void write_sample(pbf_writer& dump, uint32_t node, const StackState& state) {
    pbf_writer sample(dump, kSamples);
    sample.add_uint64(kCallstackId, uint64_t{node} + 1);
    sample.add_uint64(kSelfAllocated, state.asked_bytes);
    sample.add_uint64(kSelfFreed, state.asked_bytes - state.live_bytes);
    sample.add_uint64(kAllocCount, state.calls);
    sample.add_uint64(kFreeCount, state.calls - state.live_count);
  }

  const RecordedProcess& process_;
  const HeapHistory& history_;
  uint32_t pid_;
  std::string trace_;
  std::vector<Timed> timed_;
  uint64_t dumps_ = 0;
};

}  // namespace
}  // namespace perfetto

std::string perfetto_trace(const RecordedProcess& process, const HeapHistory& history,
                           const ShownStacks* stacks) {
  return perfetto::TraceWriter(process, history).write(stacks);
}

}  // namespace heaptape::replayer
