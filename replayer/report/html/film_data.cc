#include "replayer/report/html/film_data.h"

#include <kj/encoding.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "replayer/export/gzip.h"
#include "replayer/report/html/closeup_data.h"

namespace heaptape::replayer {
namespace {

constexpr float kShareLevels = 31;
constexpr float kBirthLevels = 255;
constexpr float kSizeLevels = 4;  // for each power of two

std::string packed(const std::string& bytes) {
  const std::string small = gzip(bytes);
  const kj::String text =
      kj::encodeBase64(kj::arrayPtr(reinterpret_cast<const kj::byte*>(small.data()), small.size()));
  return {text.cStr(), text.size()};
}

char level(float value, float levels) {
  if (value <= 0) return 0;
  return static_cast<char>(
      static_cast<uint8_t>(std::clamp(std::round(value * levels), 1.0F, 255.0F)));
}

// One film, with its cells in order of address.
class FilmWriter {
 public:
  FilmWriter(const HeapFilm& film, const FilmSites& sites)
      : film_(film), sites_(sites), events_(std::max<uint64_t>(1, film.frames().back().at)) {
    for (size_t i = 0; i < film.cell_numbers().size(); ++i) order_.push_back(i);
    std::ranges::sort(order_, {}, [&film](size_t i) { return film.cell_numbers()[i]; });
    planes_ = planes();
    sums_ = sums();
    items_ = items();
  }

  size_t packed_bytes() const { return planes_.size() + sums_.size() + items_.size(); }

  void write(JsonWriter& out, const RunResult& run) const {
    out.open_object();
    out.field("label", run.spec.label);
    out.field("events", events_);
    out.field("cellBytes", film_.cell_bytes());
    out.field("knowsAbsent", film_.knows_absent());
    out.field("offered", film_.offered());
    out.name("at");
    out.open_list();
    for (const FilmFrame& frame : film_.frames()) out.number(frame.at);
    out.close_list();
    out.name("stretches");
    write_stretches(out);
    out.field("sums", sums_);
    out.field("items", items_);
    out.field("packed", planes_);
    out.field("closeups", packed(closeups_json(run.closeups, sites_)));
    out.close_object();
  }

 private:
  std::string planes() const {
    const auto cell_bytes = static_cast<float>(film_.cell_bytes());
    const auto events = static_cast<float>(events_);
    const auto share = [cell_bytes](float bytes) {
      return level(std::min(1.0F, bytes / cell_bytes), kShareLevels);
    };
    std::string bytes;
    add(bytes, [&](const FilmCell& cell) { return share(cell.live_bytes); });
    add(bytes, [&](const FilmCell& cell) { return share(cell.free_resident_bytes); });
    add(bytes, [&](const FilmCell& cell) { return share(cell.free_absent_bytes); });
    add(bytes, [&](const FilmCell& cell) { return level(cell.birth / events, kBirthLevels); });
    add(bytes, [&](const FilmCell& cell) { return level(cell.size_log2, kSizeLevels); });
    if (!sites_.names.empty()) add(bytes, [this](const FilmCell& cell) { return site_of(cell); });
    return packed(bytes);
  }

  std::string sums() const {
    JsonWriter out;
    out.open_object();
    const auto column = [&](const char* name, uint64_t FilmSums::* field) {
      out.name(name);
      out.open_list();
      for (const FilmFrame& frame : film_.frames()) out.number(frame.sums.*field);
      out.close_list();
    };
    column("live", &FilmSums::live_bytes);
    column("blocks", &FilmSums::block_bytes);
    column("freeResident", &FilmSums::free_resident_bytes);
    column("freeAbsent", &FilmSums::free_absent_bytes);
    out.close_object();
    return packed(out.text());
  }

  std::string items() const {
    std::vector<FilmItem> items = film_.items().list();
    constexpr size_t kMostItems = 1024;
    if (items.size() > kMostItems) items.resize(kMostItems);
    std::ranges::sort(items, [](const FilmItem& a, const FilmItem& b) {
      return std::pair(a.range.begin, a.first_at) < std::pair(b.range.begin, b.first_at);
    });
    JsonWriter out;
    out.open_object();
    out.name("begin");
    out.open_list();
    for (const FilmItem& item : items) out.address(item.range.begin);
    out.close_list();
    const auto column = [&](const char* name, auto value) {
      out.name(name);
      out.open_list();
      for (const FilmItem& item : items) out.number(uint64_t{value(item)});
      out.close_list();
    };
    column("bytes", [](const FilmItem& item) { return item.range.bytes(); });
    column("birth", [](const FilmItem& item) { return item.birth; });
    column("asked", [](const FilmItem& item) { return item.requested_bytes; });
    column("first", [this](const FilmItem& item) { return frame_from(item.first_at); });
    column("last", [this](const FilmItem& item) { return frame_until(item.last_at); });
    out.close_object();
    return packed(out.text());
  }

  // Adds a plane; `of` maps a cell to a byte.
  template <typename Of>
  void add(std::string& bytes, Of of) const {
    std::string before(order_.size(), '\0');
    for (const FilmFrame& frame : film_.frames()) {
      for (size_t i = 0; i < order_.size(); ++i) {
        const bool is_there = order_[i] < frame.cells.size();
        const char now = is_there ? of(frame.cells[order_[i]]) : '\0';
        bytes += static_cast<char>(now ^ before[i]);
        before[i] = now;
      }
    }
  }

  char site_of(const FilmCell& cell) const {
    const auto found = sites_.by_birth.find(cell.drawn_birth);
    return static_cast<char>(found == sites_.by_birth.end() ? FilmSites::kNone : found->second);
  }

  // Frames may have been dropped since: returns the first frame at or after a call, and the last at
  // or before it.
  size_t frame_from(uint64_t at) const {
    const auto& frames = film_.frames();
    const auto found = std::ranges::lower_bound(frames, at, {}, &FilmFrame::at);
    return std::min<size_t>(static_cast<size_t>(found - frames.begin()), frames.size() - 1);
  }
  size_t frame_until(uint64_t at) const {
    const auto& frames = film_.frames();
    const auto after = std::ranges::upper_bound(frames, at, {}, &FilmFrame::at);
    return static_cast<size_t>(std::max<long>(1, after - frames.begin()) - 1);
  }

  // Writes runs of adjacent cells.
  void write_stretches(JsonWriter& out) const {
    const std::vector<uint64_t>& numbers = film_.cell_numbers();
    out.open_list();
    for (size_t i = 0; i < order_.size();) {
      const uint64_t first = numbers[order_[i]];
      uint64_t cells = 1;
      while (i + cells < order_.size() && numbers[order_[i + cells]] == first + cells) ++cells;
      out.open_list();
      out.address(first * film_.cell_bytes());
      out.number(cells);
      out.close_list();
      i += cells;
    }
    out.close_list();
  }

  const HeapFilm& film_;
  const FilmSites& sites_;
  const uint64_t events_;
  std::vector<size_t> order_;
  std::string planes_;
  std::string sums_;
  std::string items_;
};

void write_film(JsonWriter& out, const RunResult& run, const FilmSites& sites, size_t most_bytes) {
  constexpr size_t kFewest = 32;
  HeapFilm film = *run.film;
  for (;;) {
    const FilmWriter writer(film, sites);
    const size_t cells = film.cell_numbers().size();
    const size_t frames = film.frames().size();
    const bool fits = writer.packed_bytes() <= most_bytes;
    if (fits || (cells <= kFewest && frames <= kFewest)) {
      return writer.write(out, run);
    }
    if (cells >= frames) {
      film.halve_cells();
    } else {
      film.halve_frames();
    }
  }
}

}  // namespace

void write_films(JsonWriter& out, const std::vector<RunResult>& runs, const FilmSites& sites,
                 size_t most_bytes) {
  const auto has_film = [](const RunResult& run) {
    return !run.failure && run.film != nullptr && !run.film->cell_numbers().empty();
  };
  const auto films = static_cast<size_t>(std::ranges::count_if(runs, has_film));
  if (films == 0) return out.null();
  out.open_object();
  out.name("sites");
  out.list(sites.names);
  out.name("closeSites");
  out.list(sites.close_names);
  out.name("runs");
  out.open_list();
  for (const RunResult& run : runs) {
    if (has_film(run)) {
      write_film(out, run, sites, most_bytes / films);
    } else {
      out.null();
    }
  }
  out.close_list();
  out.close_object();
}

}  // namespace heaptape::replayer
