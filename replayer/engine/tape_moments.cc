#include "replayer/engine/tape_moments.h"

#include <algorithm>
#include <iterator>

#include "base/clock.h"
#include "base/near_names.h"
#include "base/number_text.h"
#include "replayer/answers/live_profile.h"
#include "replayer/engine/ahead.h"
#include "replayer/engine/event_clock.h"
#include "replayer/engine/live_sizes.h"
#include "replayer/engine/planned_batch.h"

namespace heaptape::replayer {
namespace {

using base::Error;
using base::Result;
using base::Status;
using schema::EventBatch;
using schema::ProcessSample;

// A program that makes so few calls for so long pauses.
constexpr uint64_t kPauseNs = 100 * base::kMillisecondNs;
constexpr uint64_t kPauseCalls = 1000;

// The profile of a tape behind its `before` first calls, which it does not count. Fed batch by
// batch.
class ProfileFeed {
 public:
  explicit ProfileFeed(uint64_t before) : before_(before) {}

  const LiveProfile& profile() const { return profile_; }
  bool has_times() const { return last_.has_value(); }

  // `first_event`: calls before the batch.
  void note(const schema::EventBatch& batch, uint64_t first_event) {
    find_pauses(batch);
    auto pause = paused_after_.begin();
    const auto note_pauses = [&](uint64_t event) {
      for (; pause != paused_after_.end() && *pause <= event; ++pause) profile_.note_pause();
    };
    note_pauses(first_event);
    for (size_t i = 0; i < batch.events.size(); ++i) {
      const uint64_t event = first_event + i + 1;
      const LiveSizes::Change change = sizes_.note(batch.events[i]);
      if (event > before_) {
        profile_.note(event - before_, sizes_.live_bytes(), change);
      } else if (event == before_) {
        profile_ = LiveProfile(sizes_.live_bytes());
      }
      note_pauses(event);
    }
  }

 private:
  // After how many calls the program paused. A pause is known by the sample behind it: one that
  // began in the batch before is told at the beginning of this one.
  void find_pauses(const schema::EventBatch& batch) {
    paused_after_.clear();
    const auto look = [this](const schema::TimeSample& time) {
      if (last_ && time.time_ns > last_->time_ns && time.time_ns - last_->time_ns >= kPauseNs &&
          time.event >= last_->event && time.event - last_->event <= kPauseCalls) {
        paused_after_.push_back(last_->event);
      }
      last_ = time;
    };
    for (const schema::TimeSample& time : batch.times) look(time);
  }

  const uint64_t before_;
  LiveProfile profile_;
  LiveSizes sizes_;
  std::optional<schema::TimeSample> last_;
  std::vector<uint64_t> paused_after_;
};

// Calls visit(batch, calls before it) for the first `events` calls and what stands behind them.
// Reading is about as much work as a visit: each has a processor.
template <typename Visit>
Status read_ahead(schema::TapeReader& tape, uint64_t events, Visit visit) {
  constexpr size_t kAhead = 3;
  uint64_t read = 0;
  bool is_over = false;
  Ahead<EventBatch> batches({.items = kAhead, .kept = 1}, [&](EventBatch& batch) -> Result<bool> {
    if (is_over) return false;
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, std::min<uint64_t>(kBatchEvents, events - read)));
    read += batch.events.size();
    is_over = batch.events.empty();
    return true;
  });
  for (uint64_t done = 0;;) {
    HEAPTAPE_ASSIGN_OR_RETURN(const EventBatch* batch, batches.next());
    if (batch == nullptr) return {};
    visit(*batch, done);
    done += batch->events.size();
  }
}

// How many calls around a moment are read for what is near it.
constexpr uint64_t kSteps[] = {1 << 13, 1 << 17, 1 << 20, 1 << 23, 1 << 26, UINT64_MAX};

// When `event` calls had been made. A finished tape on which no time passed has no times.
Result<std::optional<uint64_t>> time_of(schema::TapeReader& tape, uint64_t event) {
  if (tape.summary() && tape.summary()->duration_ns == 0) return std::optional<uint64_t>();
  for (const uint64_t step : kSteps) {
    EventClock clock;
    schema::EventBatch batch;
    uint64_t done = event - std::min(event, step);
    HEAPTAPE_RETURN_IF_ERROR(tape.seek(done));
    while (done < event) {
      HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, std::min<uint64_t>(kBatchEvents, event - done)));
      if (batch.events.empty()) break;
      done += batch.events.size();
      clock.note(batch.times, batch.next_time);
    }
    // A sample at the last call of a chunk stands in the next one.
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, 1));
    const auto behind =
        std::ranges::upper_bound(batch.times, event, {}, &schema::TimeSample::event);
    clock.note({batch.times.begin(), behind},
               behind == batch.times.end() ? batch.next_time : std::optional(*behind));
    if (const auto time = clock.at(event)) return time;
  }
  return std::optional<uint64_t>();
}

// The samples of the process.
class Samples {
 public:
  void note(const std::vector<ProcessSample>& more) {
    for (const ProcessSample& sample : more) {
      const bool knew_mallocs_part = !list_.empty() && list_.back().parts.malloc_bytes;
      if (knew_mallocs_part && !sample.parts.malloc_bytes) continue;
      list_.push_back(sample.without_regions());
    }
  }
  // By time; where that is not known, the last one before the moment. A program that makes no calls
  // has many samples after the same one.
  std::optional<ProcessSample> nearest(const Moment& moment) const {
    const auto behind = std::ranges::upper_bound(list_, moment.event, {}, &ProcessSample::event);
    if (behind == list_.begin()) return list_.empty() ? std::nullopt : std::optional(*behind);
    const ProcessSample& before = *std::prev(behind);
    if (!moment.time_ns) return before;
    const auto first = std::ranges::lower_bound(list_, before.event, {}, &ProcessSample::event);
    const auto end = behind == list_.end() ? behind : std::next(behind);
    return *std::min_element(first, end, [&](const ProcessSample& a, const ProcessSample& b) {
      return apart_ns(a, *moment.time_ns) < apart_ns(b, *moment.time_ns);
    });
  }
  // See find_moments().
  std::vector<ProcessSample> timeline(uint64_t before, uint64_t until) const {
    std::vector<ProcessSample> known;
    std::ranges::copy_if(list_, std::back_inserter(known), [=](const ProcessSample& one) {
      return one.parts.malloc_bytes && one.event >= before && one.event <= until;
    });
    if (known.size() <= kMostProcessSamples) return known;
    std::vector<ProcessSample> thinned;
    for (size_t i = 0; i < kMostProcessSamples; ++i) {
      const auto place = [&](size_t stretch) {
        return known.begin() + static_cast<long>(known.size() * stretch / kMostProcessSamples);
      };
      thinned.push_back(
          *std::ranges::max_element(place(i), place(i + 1), {}, &ProcessSample::resident_bytes));
    }
    return thinned;
  }
  bool any_before(uint64_t event) const { return !list_.empty() && list_.front().event <= event; }
  bool any_behind(uint64_t event) const { return !list_.empty() && list_.back().event > event; }

 private:
  static uint64_t apart_ns(const ProcessSample& sample, uint64_t time_ns) {
    return std::max(sample.time_ns, time_ns) - std::min(sample.time_ns, time_ns);
  }

  std::vector<ProcessSample> list_;
};

// Looks ever further on both sides of the moment, until there is a sample on each. The last step
// reaches both ends of the tape.
Result<std::optional<ProcessSample>> process_at(schema::TapeReader& tape, const Moment& moment) {
  // Tapes of earlier recorders have samples, and none in the summary.
  const bool is_recorded = tape.header().origin.format.empty() && tape.header().start_unix_ns != 0;
  const bool has_none = tape.summary() && !tape.summary()->largest_sample && !is_recorded;
  if (has_none) return std::optional<ProcessSample>();
  for (size_t before = 0, behind = 0;;) {
    const uint64_t begin = moment.event - std::min(moment.event, kSteps[before]);
    const uint64_t end = moment.event + std::min(tape.events() - moment.event, kSteps[behind]);
    HEAPTAPE_ASSIGN_OR_RETURN(const auto near, tape.read_samples(begin, end));
    Samples samples;
    samples.note(near);
    const bool knows_before = begin == 0 || samples.any_before(moment.event);
    const bool knows_behind = end == tape.events() || samples.any_behind(moment.event);
    if (knows_before && knows_behind) return samples.nearest(moment);
    if (!knows_before) ++before;
    if (!knows_behind) ++behind;
  }
}

Moment moment_of(const schema::Mark& mark) {
  return {std::string(kMarkPrefix) + mark.name, mark.event, mark.time_ns};
}

// Of several marks with one name the last; of the first kMostMarks names.
class MarkList {
 public:
  void note(const std::vector<schema::Mark>& marks, uint64_t before, uint64_t until) {
    for (const schema::Mark& mark : marks) {
      if (mark.event < before) continue;
      if (mark.event > until) break;
      Moment moment = moment_of(mark);
      const auto same = std::ranges::find(moments_, moment.name, &Moment::name);
      if (same != moments_.end()) moments_.erase(same);
      if (moments_.size() < kMostMarks) moments_.push_back(std::move(moment));
    }
  }
  const std::vector<Moment>& moments() const { return moments_; }

 private:
  std::vector<Moment> moments_;
};

Error no_mark(const schema::TapeReader& tape, const std::string& name, const MarkList& marks) {
  std::vector<std::string> names;
  std::string list;
  constexpr size_t kMostNames = 16;
  for (const Moment& mark : marks.moments()) {
    if (names.size() < kMostNames) list += (names.empty() ? "" : ", ") + mark.name;
    names.push_back(mark.name);
  }
  if (names.size() > kMostNames) list += ", ...";
  if (names.empty()) {
    return Error::usage("'" + tape.path() +
                        "' has no marks: name a call or a time (`heaptape ctl PID mark NAME` puts "
                        "a mark onto a tape while it is recorded)");
  }
  return Error::usage("'" + tape.path() + "' has no " + name + base::did_you_mean(name, names) +
                      ": its marks are " + list);
}

// The last of that name.
Result<Moment> find_mark(schema::TapeReader& tape, const std::string& name) {
  MarkList others;
  std::optional<Moment> found;
  schema::EventBatch batch;
  do {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    others.note(batch.marks, 0, UINT64_MAX);
    for (const schema::Mark& mark : batch.marks) {
      if (Moment moment = moment_of(mark); moment.name == name) found = std::move(moment);
    }
  } while (!batch.events.empty());
  return found ? Result<Moment>(*found) : no_mark(tape, name, others);
}

// The first time behind the first `event` calls, if it is near.
Result<std::optional<schema::TimeSample>> time_behind(schema::TapeReader& tape, uint64_t event) {
  constexpr uint64_t kNear = 1 << 17;
  EventBatch batch;
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(event));
  for (uint64_t done = 0; done < kNear; done += batch.events.size()) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    if (!batch.times.empty()) return std::optional(batch.times.front());
    if (batch.events.empty()) break;
  }
  return std::optional<schema::TimeSample>();
}

// A time of the tape that is at most the given one, and not long before it; nothing if there is
// none. Chunks are decoded whole, so that a few of them are enough.
Result<std::optional<schema::TimeSample>> time_before(schema::TapeReader& tape, uint64_t time_ns) {
  constexpr uint64_t kFew = 1 << 17;
  std::optional<schema::TimeSample> before;
  uint64_t first = 0;
  uint64_t last = tape.events();
  while (last - first > kFew) {
    const uint64_t middle = first + (last - first) / 2;
    HEAPTAPE_ASSIGN_OR_RETURN(const auto time, time_behind(tape, middle));
    if (time && time->time_ns <= time_ns) {
      before = time;
      first = middle;
    } else {
      last = middle;
    }
  }
  return before;
}

// How many calls had been made by then.
Result<Moment> find_time(schema::TapeReader& tape, const MomentRequest& request) {
  schema::EventBatch batch;
  HEAPTAPE_ASSIGN_OR_RETURN(auto before, time_before(tape, request.time_ns));
  // A second time at the same call, behind a pause, comes with the call.
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(before ? std::max<uint64_t>(before->event, 1) - 1 : 0));
  for (;;) {
    HEAPTAPE_RETURN_IF_ERROR(tape.read(batch, kBatchEvents));
    const bool is_end = batch.events.empty();
    for (const schema::TimeSample& time : batch.times) {
      if (time.time_ns > request.time_ns) {
        const uint64_t first = before ? before->event : 0;
        const uint64_t begin_ns = before ? before->time_ns : 0;  // at most what was asked for
        const double passed = !before ? 0
                                      : static_cast<double>(request.time_ns - begin_ns) /
                                            static_cast<double>(time.time_ns - begin_ns);
        const uint64_t calls = std::max(time.event, first) - first;
        return Moment{request.name,
                      std::min(tape.events(),
                               first + static_cast<uint64_t>(passed * static_cast<double>(calls))),
                      request.time_ns};
      }
      before = time;
    }
    if (!is_end) continue;
    if (!before) {
      const bool is_absent = tape.header().origin.lacks(schema::Absent::kTimes);
      return Error::usage("'" + tape.path() + "' has no times" +
                          (is_absent ? ", which are not in this trace" : "") +
                          ": name a call, as #1000");
    }
    return Error::usage("'" + tape.path() + "' ends after " +
                        base::duration_text(static_cast<double>(before->time_ns)) + ", before '" +
                        request.name + "'");
  }
}

// As find_moment(), but for where the tape is left.
Result<Moment> find(schema::TapeReader& tape, const MomentRequest& request,
                    const std::function<void(double)>& progress) {
  if (request.kind == MomentRequest::Kind::kTime || request.kind == MomentRequest::Kind::kMark) {
    return request.kind == MomentRequest::Kind::kTime ? find_time(tape, request)
                                                      : find_mark(tape, request.name);
  }
  if (request.kind == MomentRequest::Kind::kEvent || request.name == "end") {
    const bool is_end = request.kind != MomentRequest::Kind::kEvent;
    Moment moment{request.name, is_end ? tape.events() : request.event};
    if (moment.event > tape.events()) {
      return Error::usage("'" + tape.path() + "' has " + base::grouped(tape.events()) +
                          " calls: there is no #" + base::grouped(moment.event));
    }
    HEAPTAPE_ASSIGN_OR_RETURN(moment.time_ns, time_of(tape, moment.event));
    return moment;
  }
  HEAPTAPE_ASSIGN_OR_RETURN(const auto moments, find_moments(tape, UINT64_MAX, progress));
  const std::vector<std::string> names = request.name.empty()
                                             ? std::vector<std::string>{"plateau", "exit"}
                                             : std::vector<std::string>{request.name};
  for (const std::string& name : names) {
    const auto found = std::ranges::find(moments, name, &Moment::name);
    if (found != moments.end()) return *found;
  }
  return Error::usage("'" + tape.path() +
                      "' has no plateau: its live bytes never fall by an eighth of their peak and "
                      "stay there; use --at peak or --at exit");
}

}  // namespace

Result<std::vector<Moment>> find_moments(schema::TapeReader& tape, uint64_t until,
                                         const std::function<void(double)>& progress,
                                         std::vector<ProcessSample>* process, uint64_t from) {
  const uint64_t events = std::min(tape.events(), until);
  const uint64_t before = from - 1;
  ProfileFeed feed(before);
  MarkList marks;
  Samples samples;
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  HEAPTAPE_RETURN_IF_ERROR(read_ahead(tape, events, [&](const EventBatch& batch, uint64_t done) {
    marks.note(batch.marks, before, events);
    samples.note(batch.samples);
    feed.note(batch, done);
    if (progress && events != 0) progress(static_cast<double>(done) / static_cast<double>(events));
  }));
  const LiveProfile& profile = feed.profile();
  std::vector<Moment> moments{{"peak", before + profile.peak_at()}};
  if (const auto plateau = profile.plateau_at()) moments.push_back({"plateau", before + *plateau});
  moments.push_back({"exit", before + profile.exit_at()});
  moments.push_back({"end", events});
  std::ranges::copy(marks.moments(), std::back_inserter(moments));
  std::ranges::stable_sort(moments, {}, &Moment::event);
  for (Moment& moment : moments) {
    if (feed.has_times() && !moment.time_ns) {
      HEAPTAPE_ASSIGN_OR_RETURN(moment.time_ns, time_of(tape, moment.event));
    }
    moment.process = samples.nearest(moment);
  }
  if (process != nullptr) *process = samples.timeline(before, events);
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  return moments;
}

Result<Moment> find_moment(schema::TapeReader& tape, const MomentRequest& request,
                           const std::function<void(double)>& progress) {
  HEAPTAPE_ASSIGN_OR_RETURN(Moment moment, find(tape, request, progress));
  if (!moment.process) {
    HEAPTAPE_ASSIGN_OR_RETURN(moment.process, process_at(tape, moment));
  }
  HEAPTAPE_RETURN_IF_ERROR(tape.seek(0));
  return moment;
}

}  // namespace heaptape::replayer
