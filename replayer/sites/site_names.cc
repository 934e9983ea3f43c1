#include "replayer/sites/site_names.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/display_text.h"
#include "base/number_text.h"
#include "replayer/sites/short_name.h"

namespace heaptape::replayer {
namespace {

constexpr size_t kWholeFunctionBytes = 96;  // longer names are shown in part
constexpr size_t kPartBytes = 40;

const std::string& function_of(const Site& site) {
  static const std::string kNone;
  return site.source == nullptr ? kNone : site.source->function;
}

const std::string& file_of(const Site& site) {
  static const std::string kNone;
  return site.source == nullptr ? kNone : site.source->file;
}

size_t common_bytes(const std::string& a, const std::string& b) {
  const auto end = std::ranges::mismatch(a, b).in1;
  return static_cast<size_t>(end - a.begin());
}

// Sites with the same short text.
class Namesakes {
 public:
  explicit Namesakes(const std::vector<const Site*>& sites) {
    for (const Site* site : sites) {
      functions_.insert(function_of(*site));
      files_.insert(file_of(*site));
      modules_.insert(site->place->module);
      module_names_.insert(last_part(site->place->module));
    }
  }

  std::string name(const Site& site) const {
    const FilePath path = files_.size() > 1 ? FilePath::kWhole : FilePath::kLastPart;
    std::string text;
    if (site.source == nullptr) {
      text = frame_text(*site.place, nullptr);
    } else {
      const SourceFrame told{function_text(site), site.source->file, site.source->line};
      text = frame_text(*site.place, &told, path);
    }
    if (modules_.size() == 1) return text;
    const std::string& module = site.place->module;
    const bool is_name_enough = module_names_.size() == modules_.size();
    return text + " in " + base::display_text(is_name_enough ? last_part(module) : module);
  }

 private:
  std::string function_text(const Site& site) const {
    if (functions_.size() > 1) return told_function(site.source->function);
    const bool is_made = site.place->module == schema::kMadeCodePath;
    return is_made ? site.source->function : short_name(site.source->function);
  }
  // A long name gets the part that tells it from the names most like it.
  std::string told_function(const std::string& function) const {
    if (function.size() <= kWholeFunctionBytes) return function;
    const auto at = functions_.find(function);
    size_t same = 0;
    if (at != functions_.begin()) same = common_bytes(function, *std::prev(at));
    if (std::next(at) != functions_.end()) {
      same = std::max(same, common_bytes(function, *std::next(at)));
    }
    const size_t word = same == 0 ? 0 : function.find_last_of("<(,: ", same - 1) + 1;
    const size_t begin = std::max(word, same - std::min(same, kPartBytes / 2));
    const std::string before = begin == 0 ? "" : "...";
    const std::string after = begin + kPartBytes < function.size() ? "..." : "";
    return short_name(function) + " [" + before + function.substr(begin, kPartBytes) + after + "]";
  }

  std::set<std::string> functions_;
  std::set<std::string> files_;
  std::set<std::string> modules_;
  std::set<std::string> module_names_;
};

using ByName = std::map<std::string, std::vector<size_t>>;

ByName by_name(const std::vector<std::string>& names) {
  ByName groups;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) groups[names[i]].push_back(i);
  }
  std::erase_if(groups, [](const auto& group) { return group.second.size() == 1; });
  return groups;
}

}  // namespace

std::string initialiser_text(const Site& site) {
  return site.is_initialiser && function_of(site).empty() ? " (initializer)" : "";
}

std::vector<std::string> site_names(const std::vector<Site>& sites) {
  std::vector<std::string> names;
  for (const Site& site : sites) {
    names.push_back(site.place == nullptr
                        ? ""
                        : short_frame_text(*site.place, site.source) + initialiser_text(site));
  }
  for (const auto& [name, group] : by_name(names)) {
    std::vector<const Site*> of_name;
    for (const size_t i : group) of_name.push_back(&sites[i]);
    const Namesakes namesakes(of_name);
    for (const size_t i : group) names[i] = namesakes.name(sites[i]);
  }
  // Even their whole text is the same, as for functions without a file.
  for (const auto& [name, group] : by_name(names)) {
    for (const size_t i : group) {
      names[i] +=
          base::format_text(" at 0x%llx", static_cast<unsigned long long>(sites[i].place->offset));
    }
  }
  return names;
}

}  // namespace heaptape::replayer
