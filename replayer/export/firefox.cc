#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/export/call_nodes.h"
#include "replayer/export/history_formats.h"
#include "replayer/export/mapped_modules.h"

namespace heaptape::replayer {

// Named, because files are compiled together.
namespace firefox {
namespace {

using base::json_string;

constexpr uint64_t kNanosecondsInMs = 1'000'000;
constexpr int kGeckoVersion = 36;
constexpr int kProcessedVersion = 70;

std::string ms_text(uint64_t time_ns) {
  std::string text = std::to_string(time_ns / kNanosecondsInMs);
  if (const uint64_t rest = time_ns % kNanosecondsInMs; rest != 0) {
    text += "." + std::to_string(kNanosecondsInMs + rest).substr(1);
  }
  return text;
}

// A column of a table: values as JSON.
class Column {
 public:
  void add(const std::string& json) {
    text_ += (text_.empty() ? "" : ",") + json;
    ++length_;
  }
  void add(uint64_t value) { add(std::to_string(value)); }
  std::string json() const { return "[" + text_ + "]"; }
  size_t length() const { return length_; }

 private:
  std::string text_;
  size_t length_ = 0;
};

std::string repeated(const char* json, size_t count) {
  Column column;
  for (size_t i = 0; i < count; ++i) column.add(json);
  return column.json();
}

// A number, or what stands for none.
std::string index_text(uint32_t index, const char* none) {
  return index == UINT32_MAX ? none : std::to_string(index);
}

// The tables that all threads share: `shared` and `libs`.
class SharedTables {
 public:
  uint32_t string_id(const std::string& text) {
    const auto [it, is_new] =
        string_ids_.try_emplace(text, static_cast<uint32_t>(string_ids_.size()));
    if (is_new) strings_.add(json_string(text));
    return it->second;
  }
  // The number of a frame; equal for equal lines.
  uint32_t frame_id(const CallLine& line, const MappedModules& modules) {
    const uint32_t module =
        line.place == nullptr ? MappedModules::kNone : modules.find(line.place->module);
    const std::string file = line.source == nullptr ? "" : line.source->file;
    const uint32_t func = func_id(line.name, module, file);
    const uint32_t number = line.source == nullptr ? 0 : line.source->line;
    const uint64_t address = module == MappedModules::kNone
                                 ? UINT64_MAX
                                 : relative(modules.list()[module], modules, line.place_index);
    const auto [it, is_new] = frame_ids_.try_emplace({func, number, address, line.inline_depth},
                                                     static_cast<uint32_t>(frame_ids_.size()));
    if (!is_new) return it->second;
    frame_func_.add(func);
    frame_line_.add(number == 0 ? "null" : std::to_string(number));
    frame_address_.add(address == UINT64_MAX ? "-1" : std::to_string(address));
    frame_lib_.add(index_text(module, "-1"));
    frame_depth_.add(line.inline_depth);
    return it->second;
  }
  void add_modules(const MappedModules& modules) {
    for (const MappedModule& module : modules.list()) {
      const std::string path = json_string(module.path);
      const std::string name = last_part(module.path);
      resource_names_.add(string_id(base::valid_utf8(name)));
      libs_.add(
          R"({"arch":"","name":)" + json_string(name) + R"(,"path":)" + path + R"(,"debugName":)" +
          json_string(name) + R"(,"debugPath":)" + path + R"(,"breakpadId":"","codeId":)" +
          (module.build_id.empty() ? "null" : json_string(base::hex_text(module.build_id))) + "}");
    }
  }
  void add_stacks(const CallNodes& nodes) {
    for (size_t i = 0; i < nodes.list().size(); ++i) {
      const CallNodes::Node& node = nodes.list()[i];
      stack_frames_.add(node.frame);
      stack_prefixes_.add(node.parent == CallNodes::kNone ? 0 : i - node.parent);
    }
  }

  std::string libs_json() const { return libs_.json(); }
  std::string json() const {
    return R"({"stackTable":{"frame":)" + stack_frames_.json() + R"(,"prefixOffset":)" +
           stack_prefixes_.json() + length_json(stack_frames_) +
           ",\n\"frameTable\":" + frames_json() + ",\n\"funcTable\":" + funcs_json() +
           ",\n\"resourceTable\":" + resources_json() +
           ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],"
           "\"length\":0},\n\"sources\":" +
           sources_json() +
           ",\n\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],\"length\":0},\n"
           "\"stringArray\":" +
           strings_.json() + "}";
  }

 private:
  static std::string length_json(const Column& column) {
    return ",\"length\":" + std::to_string(column.length()) + "}";
  }
  static uint64_t relative(const MappedModule& module, const MappedModules& modules,
                           uint32_t place) {
    const uint64_t address = modules.address_of(place);
    return address < module.begin ? 0 : address - module.begin + module.file_offset;
  }
  uint32_t func_id(const std::string& name, uint32_t module, const std::string& file) {
    const uint32_t source = file.empty() ? UINT32_MAX : source_id(base::valid_utf8(file));
    const auto [it, is_new] =
        func_ids_.try_emplace({name, module, source}, static_cast<uint32_t>(func_ids_.size()));
    if (!is_new) return it->second;
    func_names_.add(string_id(name));
    func_resources_.add(index_text(module, "-1"));
    func_sources_.add(index_text(source, "null"));
    return it->second;
  }
  uint32_t source_id(const std::string& file) {
    const auto [it, is_new] =
        source_ids_.try_emplace(file, static_cast<uint32_t>(source_ids_.size()));
    if (is_new) source_files_.add(string_id(file));
    return it->second;
  }
  std::string frames_json() const {
    const size_t count = frame_func_.length();
    return R"({"address":)" + frame_address_.json() + R"(,"lib":)" + frame_lib_.json() +
           R"(,"inlineDepth":)" + frame_depth_.json() + R"(,"category":)" + repeated("0", count) +
           R"(,"subcategory":)" + repeated("0", count) + R"(,"func":)" + frame_func_.json() +
           R"(,"nativeSymbol":)" + repeated("null", count) + R"(,"innerWindowID":)" +
           repeated("0", count) + R"(,"line":)" + frame_line_.json() + R"(,"column":)" +
           repeated("null", count) + R"(,"originalLocation":)" + repeated("null", count) +
           length_json(frame_func_);
  }
  std::string funcs_json() const {
    const size_t count = func_names_.length();
    return R"({"name":)" + func_names_.json() + R"(,"isJS":)" + repeated("false", count) +
           R"(,"relevantForJS":)" + repeated("false", count) + R"(,"resource":)" +
           func_resources_.json() + R"(,"source":)" + func_sources_.json() + R"(,"lineNumber":)" +
           repeated("null", count) + R"(,"columnNumber":)" + repeated("null", count) +
           R"(,"originalLocation":)" + repeated("null", count) + length_json(func_names_);
  }
  std::string resources_json() const {
    const size_t count = resource_names_.length();
    return R"({"name":)" + resource_names_.json() + R"(,"host":)" + repeated("null", count) +
           R"(,"type":)" + repeated("1", count) + length_json(resource_names_);
  }
  std::string sources_json() const {
    const size_t count = source_files_.length();
    return R"({"id":)" + repeated("null", count) + R"(,"filename":)" + source_files_.json() +
           R"(,"startLine":)" + repeated("1", count) + R"(,"startColumn":)" + repeated("1", count) +
           R"(,"sourceMapURL":)" + repeated("null", count) + R"(,"content":)" +
           repeated("null", count) + length_json(source_files_);
  }

  Column strings_;
  std::unordered_map<std::string, uint32_t> string_ids_;
  Column libs_;
  Column resource_names_;  // by lib: each is a resource
  Column source_files_;
  std::unordered_map<std::string, uint32_t> source_ids_;
  Column func_names_;
  Column func_resources_;
  Column func_sources_;
  std::map<std::tuple<std::string, uint32_t, uint32_t>, uint32_t> func_ids_;
  Column frame_func_;
  Column frame_line_;
  Column frame_address_;
  Column frame_lib_;
  Column frame_depth_;
  std::map<std::tuple<uint32_t, uint32_t, uint64_t, uint32_t>, uint32_t> frame_ids_;
  Column stack_frames_;
  Column stack_prefixes_;
};

// Some bytes of a node between two moments, by index; a death of kNone: still there at the end.
struct Blocks {
  static constexpr uint32_t kNone = UINT32_MAX;
  uint32_t node;
  uint32_t birth;
  uint32_t death;
  uint64_t bytes;
};

// Tells sums at moments as allocations and deallocations that lead to these sums: what came and
// went between two moments is allocated and freed at the second, and what was freed of older blocks
// is taken from the newest.
class BlockList {
 public:
  BlockList(const CallNodes& nodes, const HeapHistory& history) {
    NodeStates states(nodes, history);
    before_.resize(nodes.list().size());
    live_.resize(nodes.list().size());
    for (uint32_t moment = 0; moment < history.moments.size(); ++moment) {
      for (const uint32_t node : states.step()) take(node, moment, states.of(node));
    }
    for (uint32_t node = 0; node < live_.size(); ++node) {
      for (const Blocks& blocks : live_[node]) list_.push_back(blocks);
    }
  }
  const std::vector<Blocks>& list() const { return list_; }

 private:
  void take(uint32_t node, uint32_t moment, const StackState& now) {
    StackState& before = before_[node];
    const uint64_t came = now.asked_bytes - std::min(before.asked_bytes, now.asked_bytes);
    uint64_t more = now.live_bytes - std::min(before.live_bytes, now.live_bytes);
    uint64_t less = before.live_bytes - std::min(before.live_bytes, now.live_bytes);
    if (came > more) list_.push_back({node, moment, moment, came - more});
    if (more != 0) live_[node].push_back({node, moment, Blocks::kNone, more});
    while (less != 0 && !live_[node].empty()) {
      Blocks& newest = live_[node].back();
      const uint64_t gone = std::min(less, newest.bytes);
      list_.push_back({node, newest.birth, moment, gone});
      newest.bytes -= gone;
      less -= gone;
      if (newest.bytes == 0) live_[node].pop_back();
    }
    before = now;
  }

  std::vector<StackState> before_;
  std::vector<std::vector<Blocks>> live_;  // by node
  std::vector<Blocks> list_;
};

// The table of native allocations, by time.
class AllocationTable {
 public:
  void add(uint64_t time_ns, int64_t bytes, const std::string& stack, uint64_t address) {
    times_.add(ms_text(time_ns));
    weights_.add(std::to_string(bytes));
    stacks_.add(stack);
    addresses_.add(address);
  }
  // With addresses, a viewer pairs allocations and deallocations.
  std::string json(bool with_addresses) const {
    std::string text = R"({"time":)" + times_.json() + R"(,"weight":)" + weights_.json() +
                       R"(,"weightType":"bytes","stack":)" + stacks_.json();
    if (with_addresses) {
      text += R"(,"memoryAddress":)" + addresses_.json() + R"(,"threadId":)" +
              repeated("0", times_.length());
    }
    return text + ",\"length\":" + std::to_string(times_.length()) + "}";
  }

 private:
  Column times_;
  Column weights_;
  Column stacks_;
  Column addresses_;
};

std::string allocations_over_time(const CallNodes& nodes, const HeapHistory& history) {
  const BlockList blocks(nodes, history);
  const size_t moments = history.moments.size();
  std::vector<std::vector<size_t>> born(moments);
  std::vector<std::vector<size_t>> died(moments);
  for (size_t i = 0; i < blocks.list().size(); ++i) {
    const Blocks& some = blocks.list()[i];
    born[some.birth].push_back(i);
    if (some.death != Blocks::kNone) died[some.death].push_back(i);
  }
  AllocationTable table;
  for (size_t moment = 0; moment < moments; ++moment) {
    const uint64_t time_ns = history.moments[moment].time_ns;
    for (const size_t i : born[moment]) {
      const Blocks& some = blocks.list()[i];
      table.add(time_ns, as_signed(some.bytes), std::to_string(some.node), i + 1);
    }
    // Where blocks were freed is not known.
    for (const size_t i : died[moment]) {
      table.add(time_ns, -as_signed(blocks.list()[i].bytes), "null", i + 1);
    }
  }
  return table.json(true);
}

std::string allocations_at(const CallNodes& nodes, const ShownStacks& stacks, StackValue value,
                           uint64_t time_ns) {
  std::map<uint32_t, uint64_t> bytes_of;
  for (const ShownStack& stack : stacks.list()) {
    bytes_of[nodes.find(stack.number)] += value_of(stack.totals, value);
  }
  AllocationTable table;
  for (const auto& [node, bytes] : bytes_of) {
    if (bytes != 0) table.add(time_ns, as_signed(bytes), std::to_string(node), 0);
  }
  return table.json(false);
}

class ProfileWriter {
 public:
  ProfileWriter(const RecordedProcess& process, const HeapHistory& history)
      : process_(process), history_(history) {}

  std::string write(const ShownStacks* stacks, StackValue shown) {
    const std::string threads = threads_json(stacks);  // first: it fills the tables
    return "{\"meta\":" + meta_json(stacks, shown) + ",\n\"libs\":" + tables_.libs_json() +
           ",\n\"counters\":" + counters_json() + ",\n\"shared\":" + tables_.json() +
           ",\n\"threads\":" + threads + "}\n";
  }

 private:
  static unsigned thread_of(StackValue shown) {
    if (shown == StackValue::kPeak) return 1;
    return shown == StackValue::kEnd ? 2 : 0;
  }
  std::string meta_json(const ShownStacks* stacks, StackValue shown) const {
    const std::string selected = std::to_string(stacks == nullptr ? 0 : thread_of(shown));
    return R"({"interval":1,"startTime":)" + ms_text(process_.start_unix_ns) +
           R"(,"profilingStartTime":0,"profilingEndTime":)" + ms_text(history_.end_ns) +
           R"(,"processType":0,"product":)" + json_string(process_.name) +
           R"(,"importedFrom":"heaptape","stackwalk":1,"version":)" +
           std::to_string(kGeckoVersion) + R"(,"preprocessedProfileVersion":)" +
           std::to_string(kProcessedVersion) +
           R"(,"symbolicated":true,"symbolicationNotSupported":true,"usesOnlyOneStackType":true,)"
           R"("sourceCodeIsNotOnSearchfox":true,"keepProfileThreadOrder":true,)"
           R"("initialVisibleThreads":)" +
           (stacks == nullptr ? "[0]" : "[0,1,2]") + R"(,"initialSelectedThreads":[)" + selected +
           R"(],"categories":[{"name":"Other","color":"grey","subcategories":["Other"]}],)"
           R"("markerSchema":[{"name":"moment","tooltipLabel":"{marker.name}",)"
           R"("tableLabel":"{marker.name}","chartLabel":"{marker.name}","display":)"
           R"(["marker-chart","marker-table","timeline-overview","timeline-memory"],"fields":[]}]})";
  }

  std::string counters_json() const {
    std::string text;
    unsigned weight = 20;  // where the viewer has its memory track
    for (const HistorySeries& series : history_.series) {
      text += (text.empty() ? "[\n" : ",\n") + counter_json(series, weight++);
    }
    return text + "]";
  }
  // Counts are differences. The viewer takes the first for 0, whatever it is.
  std::string counter_json(const HistorySeries& series, unsigned weight) const {
    Column times;
    Column counts;
    uint64_t before = 0;
    if (series.points[0].value != 0) {
      times.add(ms_text(series.points[0].time_ns));
      counts.add("0");
    }
    for (const HistoryPoint& point : series.points) {
      times.add(ms_text(point.time_ns));
      counts.add(std::to_string(static_cast<int64_t>(point.value - before)));
      before = point.value;
    }
    const std::string name = json_string(series.name);
    const char* const row_unit = series.is_bytes ? "bytes" : "number";
    const auto row = [row_unit](const char* source, const std::string& label) {
      return std::string(R"({"type":"value","source":")") + source + R"(","format":{"unit":")" +
             row_unit + R"("},"label":)" + label + "}";
    };
    return R"({"name":)" + name + R"(,"category":"Memory","description":)" + name + R"(,"pid":")" +
           std::to_string(process_.pid) + R"(","mainThreadIndex":0,"samples":{"time":)" +
           times.json() + R"(,"count":)" + counts.json() +
           ",\"length\":" + std::to_string(counts.length()) +
           R"(},"display":{"graphType":"line-accumulated","unit":")" +
           (series.is_bytes ? "bytes" : "") +
           R"(","color":"orange","markerSchemaLocation":"timeline-memory","sortWeight":)" +
           std::to_string(weight) + R"(,"label":)" + name + R"(,"tooltipRows":[)" +
           row("accumulated", name) + "," + row("count-range", "\"range in graph\"") + "]}}";
  }

  std::string threads_json(const ShownStacks* stacks) {
    if (stacks == nullptr) return "[" + thread_json("heap over time", 0, "") + "]";
    const MappedModules modules(*stacks);
    tables_.add_modules(modules);
    const CallNodes nodes(*stacks,
                          [&](const CallLine& line) { return tables_.frame_id(line, modules); });
    tables_.add_stacks(nodes);
    const uint64_t peak_ns = time_of("peak");
    return "[" + thread_json("heap over time", 0, allocations_over_time(nodes, history_)) + ",\n" +
           thread_json("bytes at the peak", 1,
                       allocations_at(nodes, *stacks, StackValue::kPeak, peak_ns)) +
           ",\n" +
           thread_json("bytes at the end", 2,
                       allocations_at(nodes, *stacks, StackValue::kEnd, time_of("end"))) +
           "]";
  }
  uint64_t time_of(const char* name) const {
    const auto found = std::ranges::find(history_.moments, name, &HeapMoment::name);
    return found == history_.moments.end() ? history_.end_ns : found->time_ns;
  }
  std::string thread_json(const std::string& name, unsigned number,
                          const std::string& allocations) {
    const std::string pid = std::to_string(process_.pid);
    return R"({"processType":"default","processStartupTime":0,"processShutdownTime":null,)"
           R"("registerTime":0,"unregisterTime":null,"pausedRanges":[],"showMarkersInTimeline":)" +
           std::string(number == 0 ? "true" : "false") + R"(,"name":)" + json_string(name) +
           R"(,"isMainThread":)" + (number == 0 ? "true" : "false") + R"(,"processName":)" +
           json_string(process_.name) + R"(,"pid":")" + pid + R"(","tid":")" + pid + "." +
           std::to_string(number) +
           R"(","samples":{"stack":[],"time":[],"weight":null,"weightType":"samples","length":0},)"
           R"("markers":)" +
           markers_json(number == 0) +
           (allocations.empty() ? "" : ",\n\"nativeAllocations\":" + allocations) + "}";
  }
  // The first spans the whole recording.
  std::string markers_json(bool has_any) {
    Column names;
    Column starts;
    Column ends;
    Column phases;
    const auto add = [&](const std::string& name, uint64_t time_ns) {
      names.add(tables_.string_id(name));
      starts.add(ms_text(time_ns));
      ends.add("null");
      phases.add("0");
    };
    if (has_any) {
      names.add(tables_.string_id("recording"));
      starts.add("0");
      ends.add(ms_text(history_.end_ns));
      phases.add("1");
      for (const HistoryMark& mark : history_.marks) add(mark.name, mark.time_ns);
      for (const HeapMoment& moment : history_.moments) {
        const bool is_mark = moment.name.starts_with(kMarkPrefix);
        if (!moment.name.empty() && !is_mark) add(moment.name, moment.time_ns);
      }
    }
    const size_t count = names.length();
    return R"({"data":)" + repeated(R"({"type":"moment"})", count) + R"(,"name":)" + names.json() +
           R"(,"startTime":)" + starts.json() + R"(,"endTime":)" + ends.json() + R"(,"phase":)" +
           phases.json() + R"(,"category":)" + repeated("0", count) +
           ",\"length\":" + std::to_string(count) + "}";
  }

  const RecordedProcess& process_;
  const HeapHistory& history_;
  SharedTables tables_;
};

}  // namespace
}  // namespace firefox

std::string firefox_profile(const RecordedProcess& process, const HeapHistory& history,
                            const ShownStacks* stacks, StackValue shown) {
  return firefox::ProfileWriter(process, history).write(stacks, shown);
}

}  // namespace heaptape::replayer
