#include "allocators/catalog/spec_advice.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <vector>

#include "allocators/catalog/allocator_family.h"
#include "allocators/catalog/backend_spec.h"
#include "allocators/catalog/catalog.h"
#include "allocators/catalog/library_choice.h"
#include "allocators/catalog/model_list.h"
#include "base/display_text.h"
#include "base/name_list.h"
#include "base/near_names.h"

namespace heaptape::allocators {
namespace {

using base::quoted;

// An example of a variable that each real allocator reads.
struct Setting {
  std::string_view allocator;
  const char* variable;
};
constexpr Setting kSettings[] = {
    {"glibc", "MALLOC_ARENA_MAX=2"},
    {"jemalloc", "MALLOC_CONF=dirty_decay_ms:0"},
    {"mimalloc", "MIMALLOC_LARGE_OS_PAGES=1"},
    {"tcmalloc", "TCMALLOC_RELEASE_RATE=10"},
};

// All names except those that take a path.
std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const CatalogEntry& entry : catalog()) {
    if (!entry.takes_path()) all.push_back(entry.name);
  }
  return all;
}

bool is_variable(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// The model of a real allocator, with `option` if it has that; empty if there is no model.
std::string model_text(std::string_view allocator, const std::string& option) {
  const auto model = std::ranges::find_if(models(), [&](const ModelEntry& entry) {
    return entry.family != nullptr && entry.family == allocator;
  });
  if (model == models().end()) return "";
  const std::string text = std::string(model->name) + ":" + option;
  const bool has_option = !option.empty() && parse_spec(text).ok();
  return has_option ? text : model->name;
}

// A sentence about "glibc:arena_max=2"; empty unless `name` begins with an allocator that takes no
// options.
std::string advice_on_options(const std::string& name) {
  const size_t colon = name.find(':');
  if (colon == std::string::npos) return "";
  const std::string allocator = name.substr(0, colon);
  if (allocator == "recorded" || allocator == "noop") {
    return quoted(allocator) + " takes no options: omit " + quoted(name.substr(colon));
  }
  const auto* const setting = std::ranges::find(kSettings, allocator, &Setting::allocator);
  if (setting == std::end(kSettings)) return "";
  const std::string model = model_text(allocator, name.substr(colon + 1));
  return quoted(name) + " has options, which only models take" +
         (model.empty() ? "" : ": -a " + model) +
         "; a real allocator is set through its environment: -a '" + allocator + " " +
         setting->variable + "'";
}

// A sentence if `name` is that of a library or of an existing file; else empty.
std::string advice_on_file(const std::string& name) {
  std::error_code error;
  const bool exists = std::filesystem::is_regular_file(name, error);
  if (name.find(".so") != std::string::npos) {
    if (exists) return quoted(name) + " is a library: give it as lib:" + name;
    const std::string family = allocator_family(name);
    return quoted(name) + " is a library: give its path, as lib:PATH" +
           (names_library(family) ? ", or " + family : "");
  }
  if (!exists) return "";
  return quoted(name) + " is a file, not an allocator: if it is the tape, give it once, before -a";
}

}  // namespace

std::string no_such_allocator(const std::string& name, const std::string& label) {
  const std::string near = base::did_you_mean(name, names());
  if (is_variable(label) && near.empty()) {
    const std::string word = label + "=" + name;
    return quoted(word) +
           " is a variable, not an allocator: write it after its allocator, in the same quotes, -a "
           "'glibc " +
           word + "'";
  }
  if (name == "lib" || name == "lib:") return "the path is missing: write lib:PATH";
  if (name.ends_with('@') && names_library(name.substr(0, name.size() - 1))) {
    return "a version or a path is missing after " + quoted(name);
  }
  for (const std::string& advice : {advice_on_options(name), advice_on_file(name)}) {
    if (!advice.empty()) return advice;
  }
  return "there is no allocator " + quoted(name) + near + "; choose one of " +
         base::name_list(catalog(), &CatalogEntry::name);
}

std::optional<std::string> joined_spec(const std::string& spec, const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == std::string::npos) return std::nullopt;
  const auto before = parse_spec(spec);
  if (!before.ok()) return std::nullopt;
  if (before->kind == BackendKind::kNative) {
    if (!is_variable(word.substr(0, equals))) return std::nullopt;
    return spec + " " + word;
  }
  if (before->kind != BackendKind::kModel) return std::nullopt;
  const bool has_options = std::ranges::count(before->text, ':') > 1;
  const std::string joined = spec + (has_options ? "," : ":") + word;
  return parse_spec(joined).ok() ? std::optional(joined) : std::nullopt;
}

}  // namespace heaptape::allocators
