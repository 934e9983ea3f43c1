#include "recorder/import/sorted_births.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace heaptape::recorder {
namespace {

bool is_before(const Birth& a, const Birth& b) {
  return std::tie(a.born, a.freed, a.address, a.size) <
         std::tie(b.born, b.freed, b.address, b.size);
}

}  // namespace

bool SortedBirths::is_behind(const Run& a, const Run& b) {
  return is_before(b.buffer[b.at], a.buffer[a.at]);
}

bool SortedBirths::write_run() {
  std::ranges::sort(collected_, is_before);
  if (!file_) file_.reset(std::tmpfile());
  if (!file_) return false;
  const size_t count = collected_.size();
  if (std::fwrite(collected_.data(), sizeof(Birth), count, file_.get()) != count) return false;
  runs_.push_back({written_, written_ + count, {}, 0});
  written_ += count;
  collected_.clear();
  return true;
}

bool SortedBirths::add(const Birth& birth) {
  if (collected_.size() == kRunBirths && !write_run()) return false;
  collected_.push_back(birth);
  return true;
}

bool SortedBirths::start() {
  if (runs_.empty()) {
    std::ranges::sort(collected_, is_before);
    runs_.push_back({0, 0, std::move(collected_), 0});
  } else {
    if (!collected_.empty() && !write_run()) return false;
    if (std::fflush(file_.get()) != 0) return false;
  }
  for (size_t i = 0; i < runs_.size(); ++i) {
    if (!runs_[i].buffer.empty() || refill(runs_[i])) heap_.push_back(i);
  }
  std::ranges::make_heap(heap_, behind());
  return true;
}

// Reads the next births of the run; false if it has none left.
bool SortedBirths::refill(Run& run) {
  const uint64_t room = std::max(kLeastBuffer, kMergedBirths / runs_.size());
  const auto count = static_cast<size_t>(std::min(room, run.end - run.begin));
  if (count == 0) return false;
  run.buffer.resize(count);
  run.at = 0;
  const auto offset = static_cast<off_t>(run.begin * sizeof(Birth));
  if (fseeko(file_.get(), offset, SEEK_SET) != 0) return false;
  run.begin += count;
  return std::fread(run.buffer.data(), sizeof(Birth), count, file_.get()) == count;
}

bool SortedBirths::next(Birth& birth) {
  if (heap_.empty()) return false;
  std::ranges::pop_heap(heap_, behind());
  Run& run = runs_[heap_.back()];
  birth = run.buffer[run.at++];
  if (run.at < run.buffer.size() || refill(run)) {
    std::ranges::push_heap(heap_, behind());
  } else {
    run.buffer = {};
    heap_.pop_back();
  }
  return true;
}

}  // namespace heaptape::recorder
