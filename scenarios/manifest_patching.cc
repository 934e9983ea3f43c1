// docs/scenarios/manifest-patching.md tells the story; the order of calls follows patch_data of
// ManifestInfo in git-cinnabar 0.4.0 (cinnabar/githg.py).
#include "scenarios/scenario_list.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "scenarios/cpython27.h"

namespace heaptape::scenarios {
namespace {

using cpython27::ByteArray;
using cpython27::Str;

constexpr uint64_t kDiffHeaderBytes = 12;  // start, end, length
constexpr uint64_t kDiffObjectBytes = 80;  // the Python object that holds them
constexpr uint64_t kNodeLength = 40;       // a SHA-1 in hexadecimal
constexpr uint64_t kShortestLine = 60;     // path, NUL, node, flag, newline
constexpr uint64_t kLongestLine = 120;
constexpr uint64_t kShortestSlice = 2;  // shorter strings take no memory
constexpr uint64_t kLeastLength = 2000;
constexpr uint64_t kMostRawBytes = uint64_t{1} << 40;
constexpr uint64_t kPinObjectBytes = 232;  // kept for each manifest, besides its node

enum class Variant : uint64_t { kStr, kByteArray, kJoin, kPrealloc };

// The manifest under construction.
class Patched {
 public:
  virtual ~Patched() = default;
  // new += old[begin:end]
  virtual void copy(const Str& old, uint64_t begin, uint64_t end) = 0;
  // new += text
  virtual void append(const Str& text) = 0;
  virtual Str finish() = 0;
};

class PatchedStr : public Patched {
 public:
  void copy(const Str& old, uint64_t begin, uint64_t end) override {
    const Str slice = old.slice(begin, end);
    new_.append(slice);
  }
  void append(const Str& text) override { new_.append(text); }
  Str finish() override { return std::move(new_); }

 private:
  Str new_;
};

class PatchedByteArray : public Patched {
 public:
  explicit PatchedByteArray(HeapWriter& heap) : heap_(heap), new_(heap) {}
  void copy(const Str& old, uint64_t begin, uint64_t end) override {
    const Str slice = old.slice(begin, end);
    new_.extend(slice.length());
  }
  void append(const Str& text) override { new_.extend(text.length()); }
  Str finish() override { return Str(heap_, new_.length()); }

 private:
  HeapWriter& heap_;
  ByteArray new_;
};

// The list of pieces is omitted: it is small, and its growth would be a realloc.
class PatchedJoin : public Patched {
 public:
  explicit PatchedJoin(HeapWriter& heap) : heap_(heap) {}
  void copy(const Str& old, uint64_t begin, uint64_t end) override {
    append(old.slice(begin, end));
  }
  void append(const Str& text) override {
    length_ += text.length();
    pieces_.push_back(text);
  }
  Str finish() override { return Str(heap_, length_); }

 private:
  HeapWriter& heap_;
  std::vector<Str> pieces_;
  uint64_t length_ = 0;
};

// As a function in C would do it: the new string at its final size, and no slices.
class PatchedInPlace : public Patched {
 public:
  PatchedInPlace(HeapWriter& heap, uint64_t length) : new_(heap, length) {}
  void copy(const Str&, uint64_t, uint64_t) override {}
  void append(const Str&) override {}
  Str finish() override { return std::move(new_); }

 private:
  Str new_;
};

// old[begin:end] becomes `text` other characters.
struct Diff {
  uint64_t begin;
  uint64_t end;
  uint64_t text;
};

// Draws how each manifest differs from the previous one.
class DiffSource {
 public:
  explicit DiffSource(const Values& values)
      : random_(values["seed"]),
        growth_(values["growth"]),
        most_diffs_(std::max<uint64_t>(values["max_diffs"], 1)),
        raw_mean_(std::min(values["raw_mean"], kMostRawBytes)) {}

  // The diffs of a manifest of `length`: anywhere, but no two adjacent and none at either end, so
  // that no slice between them is empty. The first one supplies the growth.
  std::vector<Diff> draw(uint64_t length) {
    const std::vector<uint64_t> texts = draw_texts(length);
    uint64_t growth = random_.below(2 * growth_ + 1);
    std::vector<uint64_t> replaced;
    for (const uint64_t text : texts) {
      replaced.push_back(text - std::min(text, growth));
      growth -= text - replaced.back();
      length -= replaced.back();
    }
    std::vector<uint64_t> cuts(texts.size());
    for (uint64_t& cut : cuts) cut = random_.below(length - kShortestSlice * (texts.size() + 1));
    std::ranges::sort(cuts);
    std::vector<Diff> diffs;
    uint64_t shift = kShortestSlice;
    for (size_t i = 0; i < texts.size(); ++i) {
      const uint64_t begin = cuts[i] + shift;
      diffs.push_back({begin, begin + replaced[i], texts[i]});
      shift += kShortestSlice + replaced[i];
    }
    return diffs;
  }

  uint64_t draw_line() { return kShortestLine + random_.below(kLongestLine - kShortestLine + 1); }

 private:
  // How many characters each diff supplies; the sum, headers included, is about raw_mean.
  std::vector<uint64_t> draw_texts(uint64_t length) {
    const uint64_t least = kDiffHeaderBytes + kShortestLine;
    uint64_t left = std::min(raw_mean_ / 2 + random_.below(raw_mean_ + 1), length / 4);
    left = std::max(left, least);
    uint64_t count = std::min(1 + random_.below(most_diffs_), left / least);
    left -= count * kDiffHeaderBytes;
    std::vector<uint64_t> texts;
    for (; count > 1; --count) {
      const uint64_t spare = left - count * kShortestLine;
      texts.push_back(kShortestLine + random_.below(2 * spare / count + 1));
      left -= texts.back();
    }
    texts.push_back(left);
    return texts;
  }

  Random random_;
  uint64_t growth_;
  uint64_t most_diffs_;
  uint64_t raw_mean_;
};

class Patching {
 public:
  Patching(const Values& values, schema::TapeWriter& tape)
      : heap_(tape),
        source_(values),
        variant_(values.get<Variant>("variant")),
        pins_(values.is_on("pins")) {}

  void run(uint64_t manifests, uint64_t length) {
    Str manifest(heap_, std::max(length, kLeastLength));
    for (uint64_t i = 0; i < manifests; ++i) {
      const std::vector<Diff> diffs = source_.draw(manifest.length());
      uint64_t raw_length = 0;
      for (const Diff& diff : diffs) raw_length += kDiffHeaderBytes + diff.text;
      const Str raw(heap_, raw_length);
      Str next = patch(manifest, raw, diffs);
      if (pins_) pin();
      manifest = std::move(next);
    }
    manifest.keep_for_good();
  }

 private:
  std::unique_ptr<Patched> make_patched(uint64_t length) {
    switch (variant_) {
      case Variant::kByteArray:
        return std::make_unique<PatchedByteArray>(heap_);
      case Variant::kJoin:
        return std::make_unique<PatchedJoin>(heap_);
      case Variant::kPrealloc:
        return std::make_unique<PatchedInPlace>(heap_, length);
      case Variant::kStr:
        break;
    }
    return std::make_unique<PatchedStr>();
  }

  Str patch(const Str& old, const Str& raw, const std::vector<Diff>& diffs) {
    uint64_t length = old.length();
    for (const Diff& diff : diffs) length += diff.text - (diff.end - diff.begin);
    const auto patched = make_patched(length);
    std::vector<Str> names;  // keys and values of the dicts of lines, which live until the end
    Block object;
    Str text;
    uint64_t at = 0;
    uint64_t end = 0;
    for (const Diff& diff : diffs) {
      parse(raw, at, diff, object, text);
      at += kDiffHeaderBytes + diff.text;
      patched->copy(old, end, diff.begin);
      patched->append(text);
      end = diff.end;
      read_lines(diff.text, names);
    }
    heap_.free(object);
    patched->copy(old, end, old.length());
    return patched->finish();
  }

  // diff = Diff(raw[at:]). The variable keeps the previous diff until this one is made.
  void parse(const Str& raw, uint64_t at, const Diff& diff, Block& object, Str& text) {
    Str rest = raw.slice(at, raw.length());
    Str header = rest.slice(0, kDiffHeaderBytes);
    const Block made = heap_.malloc(kDiffObjectBytes);
    Str made_text = rest.slice(kDiffHeaderBytes, kDiffHeaderBytes + diff.text);
    header = {};
    rest = {};
    if (object.address != 0) heap_.free(object);
    object = made;
    text = std::move(made_text);
  }

  // Reads the lines of a text. The path and node of each stay in `names`.
  void read_lines(uint64_t length, std::vector<Str>& names) {
    std::vector<Str> lines;
    while (length > 0) {
      uint64_t line = source_.draw_line();
      if (length < line + kShortestLine) line = length;
      length -= line;
      lines.emplace_back(heap_, line);
      names.emplace_back(heap_, line - kNodeLength - 2);  // without NUL and newline
      names.emplace_back(heap_, kNodeLength);
    }
  }

  void pin() {
    for (int i = 0; i < 2; ++i) {
      heap_.malloc(kPinObjectBytes);
      Str(heap_, kNodeLength).keep_for_good();
    }
  }

  HeapWriter heap_;
  DiffSource source_;
  Variant variant_;
  bool pins_;
};

void generate(const Values& values, schema::TapeWriter& tape) {
  Patching(values, tape).run(values["manifests"], values["length"]);
}

}  // namespace

Scenario manifest_patching_scenario() {
  return {"manifest-patching",
          "CPython 2.7 rebuilds a long string again and again and keeps small objects in between",
          {{"manifests", 500, "number of strings, each built from the one before"},
           {"length", 8'000'000, "characters in the first"},
           {"growth", 200, "average growth from one string to the next, in characters"},
           {"max_diffs", 20, "most diffs per string"},
           {"raw_mean", 3400, "bytes of diffs per string, on average"},
           choice("variant", Variant::kStr, "how the new string is built",
                  {"str", "bytearray", "join", "prealloc"}),
           on_off("pins", Switch::kOn, "keep two objects and two short strings per string"),
           {"seed", 1, "seed of the random numbers"}},
          generate};
}

}  // namespace heaptape::scenarios
