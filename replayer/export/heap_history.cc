#include "replayer/export/heap_history.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "replayer/engine/resolved_tape.h"

namespace heaptape::replayer {

using allocators::ReplayKind;
using schema::FrameNumber;
using schema::ProcessSample;

namespace {

constexpr uint64_t kBetween = 16;  // moments that have no name
constexpr size_t kMostMoments = 256;

// Moments of a lower rank matter more.
int rank_of(const std::string& name) {
  constexpr std::string_view kNamed[] = {"peak", "end", "plateau", "exit"};
  const auto found = std::ranges::find(kNamed, name);
  if (found != std::end(kNamed)) return static_cast<int>(found - kNamed);
  return name.empty() ? 5 : 4;
}

uint64_t region_bytes(const ProcessSample& sample) {
  uint64_t bytes = 0;
  for (const base::AddressRange& region : sample.regions) bytes += region.bytes();
  return bytes;
}

// Keeps one of two neighbors: the one with more memory.
template <typename T>
void halve(std::vector<T>& list, const std::vector<bool>& keeps_second) {
  for (size_t i = 0; i < keeps_second.size(); ++i) list[i] = list[2 * i + keeps_second[i]];
  list.resize(keeps_second.size());
}

// The owners that had most at any sample, without points.
std::map<std::string, std::vector<HistoryPoint>> largest_owners(
    const std::vector<ProcessSample>& samples) {
  std::map<std::string, uint64_t> most;
  for (const ProcessSample& sample : samples) {
    for (const auto& [owner, bytes] : sample.parts.owners) {
      most[owner] = std::max(most[owner], bytes);
    }
  }
  std::vector<std::pair<uint64_t, std::string>> ranked;
  for (const auto& [owner, bytes] : most) ranked.emplace_back(bytes, owner);
  std::ranges::sort(ranked, std::greater());
  ranked.resize(std::min(ranked.size(), schema::kMostOwners));
  std::map<std::string, std::vector<HistoryPoint>> owners;
  for (const auto& [bytes, owner] : ranked) owners[owner] = {};
  return owners;
}

}  // namespace

std::vector<Moment> moments_to_keep(const std::vector<Moment>& found, uint64_t events,
                                    uint64_t stack_limit) {
  std::vector<Moment> moments = found;
  const bool has_end = std::ranges::find(found, "end", &Moment::name) != found.end();
  if (!has_end) moments.push_back({.name = "end", .event = events});
  for (uint64_t i = 1; i < kBetween && events >= kBetween; ++i) {
    moments.push_back({.name = "", .event = events / kBetween * i});
  }
  std::ranges::stable_sort(moments, {}, [](const Moment& moment) { return rank_of(moment.name); });
  constexpr uint64_t kLeast = 4;
  const uint64_t room = HistoryBuilder::kMostStates / std::max<uint64_t>(stack_limit, 1);
  moments.resize(
      std::min<uint64_t>(moments.size(), std::clamp<uint64_t>(room, kLeast, kMostMoments)));
  std::ranges::stable_sort(moments, {}, &Moment::event);
  return moments;
}

HistoryBuilder::HistoryBuilder(uint64_t events, bool has_times)
    : has_times_(has_times),
      window_calls_(std::max<uint64_t>((events + kWindows - 1) / kWindows, 1)) {
  history_.has_times = has_times;
  history_.series = {{"liveBytes", true, {{0, 0}}},
                     {"liveCount", false, {{0, 0}}},
                     {"cumulativeBytesUpper", true, {{0, 0}}}};
}

void HistoryBuilder::add(const schema::EventBatch& read, const ResolvedBatch& resolved) {
  times_.begin(resolved.first_event, resolved.ops.size(), read.times, read.next_time);
  for (size_t i = 0; i < resolved.ops.size(); ++i) {
    const uint64_t call = ++done_;
    count(resolved.ops[i]);
    now_[kLiveBytes] = resolved.live_bytes[i];
    for (int tracked = 0; tracked < kTracked; ++tracked) {
      Window& window = windows_[tracked];
      if (window.is_new || now_[tracked] > window.most) window.note(now_[tracked], time_of(call));
    }
    if (call % window_calls_ == 0) end_window(time_of(call));
  }
  if (!resolved.ops.empty()) history_.end_ns = std::max(history_.end_ns, time_of(done_));
  for (const schema::Mark& mark : read.marks) {
    if (history_.marks.size() == kMostMarks) break;
    history_.marks.push_back({has_times_ ? mark.time_ns : mark.event * 1000, mark.name});
  }
  add_samples(read.samples);
}

void HistoryBuilder::count(const allocators::ReplayOp& op) {
  switch (op.kind) {
    case ReplayKind::kNothing:
    case ReplayKind::kFreeNull:
      break;
    case ReplayKind::kFree:
      --now_[kLiveCount];
      break;
    case ReplayKind::kRealloc:
      now_[kCumulativeBytes] += op.size;
      break;
    default:
      ++now_[kLiveCount];
      now_[kCumulativeBytes] += op.size;
  }
}

void HistoryBuilder::end_window(uint64_t time_ns) {
  for (int tracked = 0; tracked < kTracked; ++tracked) {
    std::vector<HistoryPoint>& points = history_.series[tracked].points;
    Window& window = windows_[tracked];
    if (!window.is_new) points.push_back({window.most_ns, window.most});
    const HistoryPoint last{time_ns, now_[tracked]};
    if (points.back() != last) points.push_back(last);
    window.is_new = true;
  }
}

void HistoryBuilder::add_samples(const std::vector<ProcessSample>& samples) {
  for (const ProcessSample& sample : samples) {
    samples_.push_back(sample.without_regions());
    committed_.push_back(region_bytes(sample));
    if (samples_.size() < 2 * kMostSamples) continue;
    std::vector<bool> keeps_second;
    for (size_t i = 0; i < samples_.size(); i += 2) {
      keeps_second.push_back(samples_[i + 1].resident_bytes > samples_[i].resident_bytes);
    }
    halve(samples_, keeps_second);
    halve(committed_, keeps_second);
  }
}

void HistoryBuilder::take(const Moment& found, const StackProfile* profile) {
  // A mark may be made long after the last call before it.
  uint64_t time_ns = std::max(history_.end_ns, has_times_ ? found.time_ns.value_or(0) : 0);
  if (!history_.moments.empty()) time_ns = std::max(time_ns, history_.moments.back().time_ns);
  HeapMoment& moment = history_.moments.emplace_back();
  moment.name = found.name;
  moment.time_ns = time_ns;
  if (profile == nullptr) return;
  is_sampled_ = profile->weight().is_sampled();
  profile->for_each([&](FrameNumber stack, const StackTotals& totals) {
    const StackState now{totals.calls, totals.asked_bytes, totals.live_count, totals.live_bytes};
    StackState& last = last_[stack];
    if (last == now) return;
    last = now;
    moment.changed.emplace_back(stack, now);
  });
}

// Estimates are rounded one by one: a difference of two may fall by one. The live figures, and all
// of the end, stay as they are.
void HistoryBuilder::make_monotonic() {
  const auto limit = [](uint64_t& sum, uint64_t live, uint64_t next_sum, uint64_t next_live) {
    const uint64_t freed =
        std::min(sum - std::min(live, sum), next_sum - std::min(next_live, next_sum));
    sum = std::min(live + freed, std::max(next_sum, live));
  };
  std::unordered_map<FrameNumber, StackState> next = last_;
  for (auto moment = history_.moments.rbegin(); moment != history_.moments.rend(); ++moment) {
    for (auto& [stack, state] : moment->changed) {
      const StackState& later = next[stack];
      limit(state.calls, state.live_count, later.calls, later.live_count);
      limit(state.asked_bytes, state.live_bytes, later.asked_bytes, later.live_bytes);
      next[stack] = state;
    }
  }
}

void HistoryBuilder::add_sample_series() {
  auto owners = largest_owners(samples_);
  std::vector<HistorySeries> parts = {
      {"residentBytes", true, {}},       {"committedBytes", true, {}},
      {"process.mallocBytes", true, {}}, {"process.stackBytes", true, {}},
      {"process.fileBytes", true, {}},   {"process.sharedBytes", true, {}},
      {"process.hugeBytes", true, {}}};
  for (size_t i = 0; i < samples_.size(); ++i) {
    const ProcessSample& sample = samples_[i];
    const schema::ProcessParts& of = sample.parts;
    const std::optional<uint64_t> values[] = {sample.resident_bytes, committed_[i], of.malloc_bytes,
                                              of.stack_bytes,        of.file_bytes, of.shared_bytes,
                                              of.huge_bytes};
    for (size_t part = 0; part < parts.size(); ++part) {
      if (values[part]) parts[part].points.push_back({sample.time_ns, *values[part]});
    }
    for (auto& [owner, points] : owners) points.push_back({sample.time_ns, 0});
    for (const schema::OwnedMemory& owned : of.owners) {
      const auto found = owners.find(owned.owner);
      if (found != owners.end()) found->second.back().value = owned.bytes;
    }
  }
  for (auto& [owner, points] : owners) {
    parts.push_back({"process.besideMalloc." + owner + ".bytes", true, std::move(points)});
  }
  for (HistorySeries& part : parts) {
    std::ranges::stable_sort(part.points, {}, &HistoryPoint::time_ns);
    const bool has_any = std::ranges::any_of(
        part.points, [](const HistoryPoint& point) { return point.value != 0; });
    if (has_any) history_.series.push_back(std::move(part));
  }
}

HeapHistory HistoryBuilder::finish() {
  if (done_ % window_calls_ != 0) end_window(history_.end_ns);
  add_sample_series();
  if (is_sampled_) make_monotonic();
  std::ranges::stable_sort(history_.marks, {}, &HistoryMark::time_ns);
  for (const HistorySeries& series : history_.series) {
    history_.end_ns = std::max(history_.end_ns, series.points.back().time_ns);
  }
  if (!history_.marks.empty()) {
    history_.end_ns = std::max(history_.end_ns, history_.marks.back().time_ns);
  }
  if (!history_.moments.empty()) {
    history_.end_ns = std::max(history_.end_ns, history_.moments.back().time_ns);
  }
  return std::move(history_);
}

base::Result<HeapHistory> read_history(schema::TapeReader& tape, const std::vector<Moment>& moments,
                                       bool has_times, StackProfile* profile,
                                       const std::function<void(double)>& progress) {
  std::vector<uint64_t> stops;
  for (const Moment& moment : moments) stops.push_back(moment.event);
  stops.push_back(UINT64_MAX);
  HistoryBuilder builder(tape.events(), has_times);
  SlotResolver resolver(tape.events());
  size_t next = 0;
  const auto take_until = [&](uint64_t done) {
    while (next < moments.size() && moments[next].event <= done) {
      builder.take(moments[next++], profile);
    }
  };
  take_until(0);
  HEAPTAPE_RETURN_IF_ERROR(
      for_each_resolved(tape, stops, resolver, progress,
                        [&](const schema::EventBatch& read, const ResolvedBatch& resolved) {
                          if (profile != nullptr)
                            profile->add(read, resolved.first_event, resolved.ops);
                          builder.add(read, resolved);
                          take_until(resolved.first_event + resolved.ops.size());
                        }));
  take_until(UINT64_MAX);
  return builder.finish();
}

}  // namespace heaptape::replayer
