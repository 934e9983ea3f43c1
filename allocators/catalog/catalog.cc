#include "allocators/catalog/catalog.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>

#include "allocators/catalog/model_list.h"
#include "allocators/native/native_backend.h"
#include "allocators/plugin/plugin_backend.h"
#include "allocators/recorded/recorded_backend.h"
#include "base/name_list.h"

namespace heaptape::allocators {
namespace {

using base::Error;

constexpr char kLibraryPrefix[] = "lib:";

// A well-known allocator, as distributions package it.
struct NativeAllocator {
  const char* name;
  const char* library;  // searched by the loader
  const char* package;  // of Debian and Ubuntu
};
constexpr NativeAllocator kNativeAllocators[] = {
    {"jemalloc", "libjemalloc.so.2", "libjemalloc2"},
    {"mimalloc", "libmimalloc.so.2", "libmimalloc2.0"},
    {"tcmalloc", "libtcmalloc_minimal.so.4", "libtcmalloc-minimal4"},
};

std::string known_names() {
  return base::name_list(catalog(), &CatalogEntry::name);
}

bool is_known(const std::string& backend) {
  if (backend.starts_with(kLibraryPrefix)) return backend.size() > sizeof kLibraryPrefix - 1;
  if (backend.starts_with(kPluginPrefix)) return backend.size() > sizeof kPluginPrefix - 1;
  if (find_model(backend) != nullptr) return true;
  return std::ranges::any_of(catalog(), [&](const auto& entry) { return entry.name == backend; });
}

// "name" of "name=value"; empty when there is none.
std::string name_part(const std::string& word) {
  const size_t equals = word.find('=');
  return equals == std::string::npos ? "" : word.substr(0, equals);
}

// The label must not swallow a path or a model's options that have an '=' of their own.
bool is_label(const std::string& name) {
  return !name.empty() && name.find_first_of(":/") == std::string::npos;
}

// What speaks against `word` of the spec `text` as environment of the backend; empty if nothing.
std::string why_no_environment(const BackendSpec& spec, const std::string& word,
                               const std::string& text) {
  if (name_part(word).empty()) {
    return "'" + word + "' in '" + text +
           "' is not of the form NAME=VALUE; blanks separate the allocator and its environment";
  }
  if (spec.backend.starts_with(kPluginPrefix)) {
    return "'" + spec.backend + "' takes no environment: '" + word +
           "' can only be an option, plugin:PATH:" + word;
  }
  if (!runs_real_code(spec)) {
    const ModelEntry* const model = find_model(spec.backend);
    const std::string hint =
        model == nullptr ? "" : std::string("; an option is written ") + model->name + ":" + word;
    return "'" + spec.backend + "' runs no real code, so '" + word + "' means nothing to it" + hint;
  }
  return "";
}

std::unique_ptr<Backend> make_native(const BackendSpec& spec, Touch touch, std::string library,
                                     std::string advice, bool noop) {
  NativeOptions options;
  options.name = spec.backend;
  options.library = std::move(library);
  options.advice = std::move(advice);
  options.environment = spec.environment;
  options.touch = touch;
  options.noop = noop;
  return std::make_unique<NativeBackend>(std::move(options));
}

Result<std::unique_ptr<Backend>> make_library(const BackendSpec& spec, Touch touch) {
  const std::string path = spec.backend.substr(sizeof kLibraryPrefix - 1);
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return Error::not_found("cannot replay on '" + spec.backend + "': there is no file '" + path +
                            "'");
  }
  return make_native(spec, touch, std::filesystem::absolute(path).lexically_normal(), "", false);
}

}  // namespace

const std::vector<CatalogEntry>& catalog() {
  static const std::vector<CatalogEntry> entries = [] {
    std::vector<CatalogEntry> list = {
        {"recorded", "the recorded run itself, as the tape has it"},
        {"noop", "no allocator: what the replay itself costs"},
        {"glibc", "the malloc of this system's libc"},
    };
    for (const NativeAllocator& allocator : kNativeAllocators) {
      list.push_back({allocator.name,
                      std::string(allocator.library) + ", Debian package " + allocator.package});
    }
    list.push_back({"lib:PATH", "any shared library that exports malloc"});
    for (const ModelEntry& model : models()) {
      list.push_back({model.name, model.description, model.parameters()});
    }
    list.push_back({"plugin:PATH", "a model of yours, see docs/howto-plugin.md"});
    return list;
  }();
  return entries;
}

bool runs_real_code(const BackendSpec& spec) {
  return spec.backend != "recorded" && spec.backend != "noop" &&
         !spec.backend.starts_with("model:") && !spec.backend.starts_with(kPluginPrefix);
}

Result<BackendSpec> parse_spec(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
  if (words.empty()) {
    return Error::usage("an allocator is missing: give one of " + known_names());
  }
  BackendSpec spec;
  spec.backend = words[0];
  if (const std::string label = name_part(words[0]); is_label(label)) {
    spec.label = label;
    spec.backend = words[0].substr(label.size() + 1);
  }
  if (!is_known(spec.backend)) {
    return Error::usage("unknown allocator '" + spec.backend + "'; known are " + known_names());
  }
  if (const ModelEntry* const model = find_model(spec.backend)) {
    HEAPTAPE_RETURN_IF_ERROR(model_options(*model, spec.backend));
  }
  if (spec.label.empty()) spec.label = spec.backend;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    if (const std::string why = why_no_environment(spec, *word, text); !why.empty()) {
      return Error::usage(why);
    }
    spec.environment.push_back(*word);
  }
  return spec;
}

Result<std::unique_ptr<Backend>> make_backend(const BackendSpec& spec,
                                              const BackendContext& context) {
  if (spec.backend == "recorded") {
    return std::unique_ptr<Backend>(std::make_unique<RecordedBackend>(*context.header));
  }
  if (spec.backend == "noop") return make_native(spec, Touch::kNone, "", "", true);
  if (spec.backend == "glibc") return make_native(spec, context.touch, "", "", false);
  if (spec.backend.starts_with(kLibraryPrefix)) return make_library(spec, context.touch);
  for (const NativeAllocator& allocator : kNativeAllocators) {
    if (spec.backend == allocator.name) {
      return make_native(
          spec, context.touch, allocator.library,
          std::string("install it (Debian: apt-get install ") + allocator.package + ")", false);
    }
  }
  if (spec.backend.starts_with(kPluginPrefix)) return make_plugin_backend(spec.backend);
  if (const ModelEntry* const model = find_model(spec.backend)) {
    HEAPTAPE_ASSIGN_OR_RETURN(const base::Values options, model_options(*model, spec.backend));
    return model->make(options);
  }
  return Error::usage("unknown allocator '" + spec.backend + "'");
}

}  // namespace heaptape::allocators
