#include "replayer/report/html/timeline_data.h"

#include <algorithm>
#include <map>
#include <utility>

#include "replayer/text/metric_text.h"

namespace heaptape::replayer {
namespace {

using schema::TimelineFigures;
using Series = TimelineFigures::Series;

// Holds each list once, with its number.
class Lists {
 public:
  size_t number_of(const std::vector<uint64_t>& list) {
    const auto [it, is_new] = numbers_.try_emplace(list, lists_.size());
    if (is_new) lists_.push_back(&it->first);
    return it->second;
  }
  const std::vector<const std::vector<uint64_t>*>& all() const { return lists_; }

 private:
  std::map<std::vector<uint64_t>, size_t> numbers_;
  std::vector<const std::vector<uint64_t>*> lists_;
};

std::vector<uint64_t> picked(const std::vector<uint64_t>& values,
                             const std::vector<size_t>& samples) {
  std::vector<uint64_t> out;
  for (const size_t sample : samples) out.push_back(values[sample]);
  return out;
}

const Series* find(const TimelineFigures& run, const std::string& name) {
  const auto found = std::ranges::find(run.series, name, &Series::name);
  return found == run.series.end() ? nullptr : &*found;
}

// Every series, from the first run with it.
std::vector<const Series*> names_of(const std::vector<TimelineFigures>& runs) {
  std::vector<const Series*> names;
  for (const TimelineFigures& run : runs) {
    for (const Series& series : run.series) {
      const auto same = [&series](const Series* other) { return other->name == series.name; };
      if (std::ranges::none_of(names, same)) names.push_back(&series);
    }
  }
  return names;
}

// The limit for one line. If only some samples are drawn, each line has its own places and times,
// and so three numbers for each point.
size_t most_points(const std::vector<TimelineFigures>& runs, size_t samples, size_t most_numbers) {
  size_t lines = 0;
  for (const TimelineFigures& run : runs) lines += run.series.size();
  const size_t most = most_numbers / std::max<size_t>(1, lines);
  constexpr size_t kFewest = 16;
  return std::max(kFewest, samples <= most ? most : most / 3);
}

// One line of a chart: null if the run does not have it.
void write_line(JsonWriter& out, const TimelineFigures& run, const std::string& name, size_t most,
                Lists& lists) {
  const Series* const series = find(run, name);
  if (series == nullptr) return out.null();
  const std::vector<size_t> samples = envelope(series->values, most);
  out.open_object();
  out.field("at", lists.number_of(picked(run.at, samples)));
  out.field("timeNs", lists.number_of(picked(run.time_ns, samples)));
  out.field("values", lists.number_of(picked(series->values, samples)));
  out.close_object();
}

}  // namespace

size_t envelope_stretches(size_t most) {
  return most < 4 ? 1 : (most - 2) / 2;
}

std::vector<size_t> envelope(const std::vector<uint64_t>& values, size_t most) {
  std::vector<size_t> samples;
  if (values.size() <= most) {
    for (size_t i = 0; i < values.size(); ++i) samples.push_back(i);
    return samples;
  }
  samples.push_back(0);
  const size_t stretches = envelope_stretches(most);
  for (size_t i = 0; i < stretches; ++i) {
    const auto begin = values.begin() + static_cast<long>(values.size() * i / stretches);
    const auto end = values.begin() + static_cast<long>(values.size() * (i + 1) / stretches);
    if (begin == end) continue;
    const auto [low, high] = std::minmax_element(begin, end);
    const auto first = static_cast<size_t>(std::min(low, high) - values.begin());
    const auto second = static_cast<size_t>(std::max(low, high) - values.begin());
    if (first != samples.back()) samples.push_back(first);
    if (second != samples.back()) samples.push_back(second);
  }
  if (samples.back() != values.size() - 1) samples.push_back(values.size() - 1);
  return samples;
}

void write_timelines(JsonWriter& out, const std::vector<TimelineFigures>& runs,
                     size_t most_numbers) {
  size_t samples = 0;
  for (const TimelineFigures& run : runs) samples = std::max(samples, run.at.size());
  const size_t most = most_points(runs, samples, most_numbers);
  Lists lists;
  out.open_object();
  out.field("samples", samples);
  out.field("stretches", samples <= most ? 0 : envelope_stretches(most));
  out.name("series");
  out.open_list();
  for (const Series* series : names_of(runs)) {
    out.open_object();
    out.field("metric", series->name);
    out.field("unit", schema::unit_name(series->unit));
    out.name("runs");
    out.open_list();
    for (const TimelineFigures& run : runs) write_line(out, run, series->name, most, lists);
    out.close_list();
    out.close_object();
  }
  out.close_list();
  out.name("lists");
  out.open_list();
  for (const std::vector<uint64_t>* list : lists.all()) out.list(*list);
  out.close_list();
  out.close_object();
}

}  // namespace heaptape::replayer
