// docs/scenarios/clone-like.md tells the story, and which of its numbers are guesses.
#include "scenarios/scenario_list.h"

#include <utility>
#include <vector>

#include "scenarios/cpython27.h"

namespace heaptape::scenarios {
namespace {

using cpython27::Str;

constexpr uint64_t kNodeBytes = 20;  // a SHA-1
constexpr uint64_t kHexBytes = 2 * kNodeBytes;
constexpr uint64_t kNodes = 4;             // of a revision, its parents, its changeset
constexpr uint64_t kDiffHeaderBytes = 12;  // start, end, length
constexpr uint64_t kObjectBytes = 80;      // a Python object that holds a few words
constexpr uint64_t kShortestLine = 60;
constexpr uint64_t kLongestLine = 100;
constexpr uint64_t kFewestLines = 20;
constexpr uint64_t kMostLines = 580;
constexpr uint64_t kMostDiffs = 3;
constexpr uint64_t kFewestDiffLines = 4;
constexpr uint64_t kMostDiffLines = 12;
constexpr uint64_t kDiffsPerNewLength = 8;  // one in this many changes a line's length

// A file of the repository: the length of each of its lines, and its newest text.
struct File {
  std::vector<uint64_t> lines;
  Str text;
};

// A CPython 2.7 list of strings. It frees the last one first (Objects/listobject.c, list_dealloc).
// Its table is omitted.
class List {
 public:
  List() = default;
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  ~List() {
    while (!items_.empty()) items_.pop_back();
  }

  void append(Str item) { items_.push_back(std::move(item)); }
  const Str& first() const { return items_.front(); }

 private:
  std::vector<Str> items_;
};

// A CPython 2.7 dict: a table of 24 bytes an entry, which grows when it is two thirds full
// (Objects/dictobject.c, dictresize). Its first eight entries, in the object itself, are omitted.
class Dict {
 public:
  explicit Dict(HeapWriter& heap) : heap_(heap), table_(heap.malloc(kEntryBytes * room_)) {}

  void add() {
    if (3 * ++entries_ < 2 * room_) return;
    room_ *= entries_ > 50'000 ? 2 : 4;
    const Block larger = heap_.malloc(kEntryBytes * room_);
    heap_.free(table_);
    table_ = larger;
  }

 private:
  static constexpr uint64_t kEntryBytes = 24;

  HeapWriter& heap_;
  uint64_t room_ = 32;
  uint64_t entries_ = 0;
  Block table_;
};

class Clone {
 public:
  Clone(const Values& values, schema::TapeWriter& tape)
      : tape_(tape), heap_(tape), random_(values["seed"]), files_(values["files"]), names_(heap_) {
    for (File& file : files_) {
      file.lines.resize(kFewestLines + random_.below(kMostLines - kFewestLines + 1));
      for (uint64_t& line : file.lines) line = draw_line();
    }
  }

  // At least one revision, and at least `events` calls.
  void run(uint64_t events) {
    do {
      revise(draw_file());
    } while (tape_.events() < events);
    for (File& file : files_) file.text.keep_for_good();
  }

 private:
  uint64_t draw_line() { return kShortestLine + random_.below(kLongestLine - kShortestLine + 1); }

  // Reads a revision of a file as its difference from the previous one.
  void revise(File& file) {
    const uint64_t diffs = 1 + random_.below(kMostDiffs);
    std::vector<uint64_t> texts(diffs);
    uint64_t raw_bytes = kNodes * kNodeBytes;
    for (uint64_t& text : texts) {
      text = draw_text(file);
      raw_bytes += kDiffHeaderBytes + text;
    }
    const Str raw(heap_, raw_bytes);
    Str name = read_nodes(raw);
    file.text = patch(file, raw, texts);
    read_lines(file);
    name.keep_for_good();
    heap_.malloc(kObjectBytes);
    names_.add();
  }

  // Usually one of the first: a few files have most of the revisions.
  File& draw_file() {
    const uint64_t last = random_.below(1 + random_.below(files_.size()));
    return files_[random_.below(1 + last)];
  }

  // The text of some successive lines; now and then one of them changes its length.
  uint64_t draw_text(File& file) {
    const uint64_t count = kFewestDiffLines + random_.below(kMostDiffLines - kFewestDiffLines + 1);
    const uint64_t first = random_.below(file.lines.size() - count + 1);
    if (random_.below(kDiffsPerNewLength) == 0) file.lines[first] = draw_line();
    uint64_t text = 0;
    for (uint64_t i = first; i < first + count; ++i) text += file.lines[i];
    return text;
  }

  // The four nodes in hexadecimal. The first is the name of the revision.
  Str read_nodes(const Str& raw) {
    List hex;
    for (uint64_t i = 0; i < kNodes; ++i) {
      const Str node = raw.slice(i * kNodeBytes, (i + 1) * kNodeBytes);
      hex.append(Str(heap_, kHexBytes));
    }
    return hex.first();
  }

  // ''.join of the old and new pieces.
  Str patch(const File& file, const Str& raw, const std::vector<uint64_t>& texts) {
    List pieces;
    uint64_t at = kNodes * kNodeBytes;
    for (const uint64_t text : texts) {
      const Str rest = raw.slice(at, raw.length());
      const Str header = rest.slice(0, kDiffHeaderBytes);
      Block diff = heap_.malloc(kObjectBytes);
      pieces.append(rest.slice(kDiffHeaderBytes, kDiffHeaderBytes + text));
      if (file.text.length() > 0) pieces.append(file.text.slice(0, file.text.length() / 2));
      at += kDiffHeaderBytes + text;
      heap_.free(diff);
    }
    uint64_t length = 0;
    for (const uint64_t line : file.lines) length += line;
    return Str(heap_, length);
  }

  // text.splitlines(): all lines at once.
  void read_lines(const File& file) {
    List lines;
    for (const uint64_t line : file.lines) lines.append(Str(heap_, line));
  }

  schema::TapeWriter& tape_;
  HeapWriter heap_;
  Random random_;
  std::vector<File> files_;
  Dict names_;
};

void generate(const Values& values, schema::TapeWriter& tape) {
  Clone(values, tape).run(values["events"]);
}

}  // namespace

Scenario clone_like_scenario() {
  return {"clone-like",
          "CPython 2.7 reads the revisions of a repository and keeps the name of each",
          {{"events", 2'000'000, "number of calls, up to the end of a revision"},
           {"files", 8, "number of files whose newest text is kept", {}, 1, 1'000'000},
           {"seed", 1, "seed of the random numbers"}},
          generate};
}

}  // namespace heaptape::scenarios
