// The sites of a tape, and the frames of its stacks.
#include <utility>

#include "python/arrow/columns.h"
#include "python/tables/tape_tables.h"
#include "replayer/sites/shown_places.h"

namespace heaptape::python {
namespace {

using replayer::CodePlace;
using replayer::Site;
using replayer::Sites;
using replayer::SourceFrame;

// A function at a line, or a place in a module if that is not known.
struct CodeColumns {
  Texts function, file;
  OptionalNumbers<uint32_t> line;
  Texts module;
  OptionalNumbers<uint64_t> offset;

  explicit CodeColumns(Batch& batch)
      : function(batch, "function"),
        file(batch, "file"),
        line(batch, "line"),
        module(batch, "module"),
        offset(batch, "offset") {}

  // Both may be null.
  void put(const CodePlace* place, const SourceFrame* source) {
    put_text(function, source == nullptr ? "" : source->function);
    put_text(file, source == nullptr ? "" : source->file);
    line.put_unless_0(source == nullptr ? 0 : source->line);
    put_text(module, place == nullptr ? "" : place->module);
    offset.put_unless_0(place == nullptr ? 0 : place->offset);
  }

 private:
  static void put_text(Texts& column, const std::string& text) {
    if (text.empty()) {
      column.put_null();
    } else {
      column.put(text);
    }
  }
};

struct SiteRows : Batch {
  Numbers<uint32_t> site{*this, "site"};
  Texts text{*this, "text"};
  CodeColumns code{*this};
};

class SiteSource : public TableSource<SiteRows> {
 public:
  explicit SiteSource(std::shared_ptr<const TapeSites> sites) : sites_(std::move(sites)) {}

 private:
  base::Status fill_rows(SiteRows& rows) override {
    if (sites_ == nullptr) return {};
    const std::vector<Site>& list = sites_->sites().list();
    for (; next_ < list.size() && rows.room() != 0; ++next_) {
      rows.site.put(next_);
      rows.text.put(sites_->sites().text(next_));
      rows.code.put(list[next_].place, list[next_].source);
    }
    return {};
  }

  std::shared_ptr<const TapeSites> sites_;
  uint32_t next_ = Sites::kNone + 1;
};

struct StackRows : Batch {
  Numbers<uint32_t> stack{*this, "stack"};
  OptionalNumbers<uint32_t> caller{*this, "caller"};
  OptionalNumbers<uint32_t> site{*this, "site"};
  Numbers<uint32_t> inlined{*this, "inlined"};
  Texts text{*this, "text"};
  CodeColumns code{*this};
};

class StackSource : public TableSource<StackRows> {
 public:
  explicit StackSource(std::shared_ptr<const TapeSites> sites) : sites_(std::move(sites)) {}

 private:
  base::Status fill_rows(StackRows& rows) override {
    if (sites_ == nullptr) return {};
    for (; next_ < sites_->stacks().limit(); ++next_, line_ = 0) {
      const schema::Frame* const frame = sites_->stacks().find(next_);
      if (frame == nullptr) continue;
      const CodePlace& place = sites_->symbols().find(next_);
      do {
        if (rows.room() == 0) return {};
        put(rows, *frame, place);
      } while (++line_ < place.source.size());
    }
    return {};
  }

  void put(StackRows& rows, const schema::Frame& frame, const CodePlace& place) {
    const uint32_t site = sites_->sites().of_stack(next_);
    rows.stack.put(next_);
    rows.caller.put_unless_0(frame.caller);
    rows.site.put(site, site != Sites::kNone);
    rows.inlined.put(line_);
    const SourceFrame* const source = replayer::source_line(place, line_);
    rows.text.put(replayer::frame_text(place, source));
    rows.code.put(&place, source);
  }

  std::shared_ptr<const TapeSites> sites_;
  schema::FrameNumber next_ = 1;
  uint32_t line_ = 0;  // in the frame's source: an inlined function, or the last one
};

}  // namespace

std::unique_ptr<Source> open_sites(std::shared_ptr<const TapeSites> sites) {
  return std::make_unique<SiteSource>(std::move(sites));
}
std::unique_ptr<Source> open_stacks(std::shared_ptr<const TapeSites> sites) {
  return std::make_unique<StackSource>(std::move(sites));
}

}  // namespace heaptape::python
