#include "recorder/collector/code_names.h"

#include <iterator>

namespace heaptape::recorder {
namespace {

constexpr size_t kMostCalls = size_t{1} << 20;  // that wait for a name
constexpr size_t kMostNames = size_t{1} << 16;
constexpr size_t kMostBytes = size_t{8} << 20;  // fits the last chunk of a tape

}  // namespace

void CodeNames::add(const std::vector<uint64_t>& calls) {
  const std::lock_guard lock(mutex_);
  for (const uint64_t call : calls) {
    if (calls_.size() < kMostCalls) calls_.insert(call);
  }
}

size_t CodeNames::look() {
  const std::lock_guard looking(look_mutex_);
  std::set<uint64_t> calls;
  {
    const std::lock_guard lock(mutex_);
    calls.swap(calls_);
  }
  if (calls.empty() && unnamed_.empty()) return 0;
  size_t names = 0;
  for (const auto& map : maps_) names += map->refresh();
  if (std::exchange(known_names_, names) != names) calls.merge(std::exchange(unnamed_, {}));
  std::vector<schema::CodeMapping> found;
  for (const uint64_t call : calls) {
    if (!find(call, found) && unnamed_.size() < kMostCalls) unnamed_.insert(call);
  }
  const std::lock_guard lock(mutex_);
  found_.insert(found_.end(), std::move_iterator(found.begin()), std::move_iterator(found.end()));
  return calls.size();
}

// Whether the program has said something of the call; the name, if it is new, is put into `found`.
bool CodeNames::find(uint64_t call, std::vector<schema::CodeMapping>& found) {
  for (size_t i = 0; i < maps_.size(); ++i) {
    std::optional<PerfMap::Name> name = maps_[i]->find(call);
    if (!name) continue;
    const bool has_room = given_.size() < kMostNames && bytes_ < kMostBytes;
    if (!has_room || !given_.emplace(i, name->index).second) return true;
    bytes_ += name->text.size();
    found.push_back({0, name->code, 0, schema::kMadeCodePath, "", std::move(name->text)});
    return true;
  }
  return false;
}

std::vector<schema::CodeMapping> CodeNames::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(found_, {});
}

}  // namespace heaptape::recorder
