#include "allocators/catalog/backend_spec.h"

#include <algorithm>
#include <iterator>
#include <sstream>

#include "allocators/catalog/catalog.h"
#include "allocators/catalog/recorded_settings.h"
#include "allocators/catalog/spec_advice.h"
#include "allocators/native/native_backend.h"
#include "allocators/plugin/plugin_backend.h"
#include "allocators/recorded/recorded_backend.h"
#include "base/check.h"
#include "base/name_list.h"

namespace heaptape::allocators {
namespace {

using base::Error;

constexpr std::string_view kPluginPrefix = "plugin:";

std::string known_names() {
  return base::name_list(catalog(), &CatalogEntry::name);
}

// "name" of "name=value"; empty if there is none.
std::string name_part(const std::string& word) {
  const size_t equals = word.find('=');
  return equals == std::string::npos ? "" : word.substr(0, equals);
}

// The label must not swallow a path or a model's options that contain '='.
bool is_label(const std::string& name) {
  return !name.empty() && name.find_first_of(":/") == std::string::npos;
}

// The text after `prefix` in `text`; empty if `text` begins otherwise or ends there.
std::string behind(std::string_view prefix, const std::string& text) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : "";
}

// Where the options of "model:NAME:options" begin, or the end.
size_t options_at(const std::string& text) {
  return std::min(text.find(':', text.find(':') + 1), text.size());
}

// Sets the kind and source that `spec.text` names; loads nothing. False if it names none.
bool identify(BackendSpec& spec) {
  const std::string& text = spec.text;
  if (text == "recorded" || text == "noop") {
    spec.kind = text == "noop" ? BackendKind::kNoop : BackendKind::kRecorded;
  } else if (names_library(text)) {
    spec.kind = BackendKind::kNative;
  } else if (const ModelEntry* const model = find_model(text.substr(0, options_at(text)))) {
    spec.kind = BackendKind::kModel;
    spec.source = model;
  } else if (!behind(kPluginPrefix, text).empty()) {
    spec.kind = BackendKind::kPlugin;
  } else {
    return false;
  }
  return true;
}

// Why `word` of the spec `text` cannot be environment of the backend; empty if it can.
std::string why_no_environment(const BackendSpec& spec, const std::string& word,
                               const std::string& text) {
  if (name_part(word).empty()) {
    return "'" + word + "' in '" + text +
           "' is not of the form NAME=VALUE; blanks separate the allocator and its environment";
  }
  const std::string quoted = "'" + spec.text + "'";
  switch (spec.kind) {
    case BackendKind::kNative:
      if (name_part(word) != "LD_PRELOAD") return "";
      return "'" + word + "' in '" + text +
             "' would have no effect; to replay on another library, write lib:PATH";
    case BackendKind::kPlugin:
      return quoted + " takes no environment; write '" + word +
             "' as an option: plugin:PATH:" + word;
    case BackendKind::kModel:
      return quoted + " runs no real code, so it takes no environment; write '" + word +
             "' as an option: " + std::get<const ModelEntry*>(spec.source)->name + ":" + word;
    case BackendKind::kRecorded:
    case BackendKind::kNoop:
      break;
  }
  return quoted + " runs no real code, so it takes no environment: omit '" + word + "'";
}

Status find_library(BackendSpec& spec) {
  HEAPTAPE_ASSIGN_OR_RETURN(spec.source, choose_library(spec.text));
  return {};
}

Status read_model_options(BackendSpec& spec) {
  const ModelEntry& model = *std::get<const ModelEntry*>(spec.source);
  const size_t colon = options_at(spec.text);
  const std::string sets = spec.text.substr(std::min(colon + 1, spec.text.size()));
  HEAPTAPE_ASSIGN_OR_RETURN(
      spec.options, base::parse_values(std::string("'") + model.name + "'", model.parameters(),
                                       base::split_sets(sets)));
  for (const std::string& set : base::split_sets(sets)) spec.given.push_back(name_part(set));
  return {};
}

Status read_plugin(BackendSpec& spec) {
  const PluginSpec parts = parse_plugin_spec(behind(kPluginPrefix, spec.text));
  HEAPTAPE_ASSIGN_OR_RETURN(Plugin plugin,
                            load_plugin("cannot replay on '" + spec.text + "'", parts.path));
  HEAPTAPE_ASSIGN_OR_RETURN(spec.options, plugin_options(plugin, spec.text, parts.sets));
  spec.source = std::move(plugin);
  return {};
}

// Finds and loads what the spec names.
Status resolve(BackendSpec& spec) {
  switch (spec.kind) {
    case BackendKind::kNative:
      return find_library(spec);
    case BackendKind::kModel:
      return read_model_options(spec);
    case BackendKind::kPlugin:
      return read_plugin(spec);
    case BackendKind::kRecorded:
    case BackendKind::kNoop:
      break;
  }
  return {};
}

}  // namespace

Result<BackendSpec> parse_spec(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words(std::istream_iterator<std::string>(stream), {});
  if (words.empty()) {
    return Error::usage("an allocator is missing: give one of " + known_names());
  }
  BackendSpec spec;
  spec.text = words[0];
  if (const std::string label = name_part(words[0]); is_label(label)) {
    spec.label = label;
    spec.text = words[0].substr(label.size() + 1);
  }
  if (!identify(spec)) {
    return Error::usage(no_such_allocator(spec.text, spec.label));
  }
  if (spec.label.empty()) spec.label = spec.text;
  for (auto word = words.begin() + 1; word != words.end(); ++word) {
    if (const std::string why = why_no_environment(spec, *word, text); !why.empty()) {
      return Error::usage(why);
    }
    spec.environment.push_back(*word);
  }
  HEAPTAPE_RETURN_IF_ERROR(resolve(spec));
  return spec;
}

std::string BackendSpec::file() const {
  if (kind == BackendKind::kNative) return library_path(text);
  const std::string plugin = behind(kPluginPrefix, text);
  return plugin.empty() ? "" : parse_plugin_spec(plugin).path;
}

std::string BackendSpec::family() const {
  if (const auto* const library = std::get_if<NativeLibrary>(&source)) {
    return library->family;
  }
  const auto* const model = std::get_if<const ModelEntry*>(&source);
  if (model == nullptr) return "";
  return (*model)->family != nullptr ? (*model)->family : (*model)->name;
}

std::string BackendSpec::modelled_version() const {
  const auto* const model = std::get_if<const ModelEntry*>(&source);
  return model == nullptr ? "" : (*model)->version;
}

bool BackendSpec::imitates_nobody() const {
  const auto* const model = std::get_if<const ModelEntry*>(&source);
  return model != nullptr && (*model)->family == nullptr;
}

bool BackendSpec::sees_time() const {
  if (kind == BackendKind::kNative) return family() != "glibc";
  const auto* const model = std::get_if<const ModelEntry*>(&source);
  return model != nullptr && (*model)->sees_time;
}

std::unique_ptr<Backend> BackendSpec::make(const BackendContext& context) const {
  const uint64_t recorded_break = context.header == nullptr ? 0 : context.header->initial_break;
  RecordedSettings recorded{.environment = environment, .options = options};
  if (context.header != nullptr)
    recorded = with_recorded_settings(*this, *context.header, context.steer);
  switch (kind) {
    case BackendKind::kRecorded:
      HEAPTAPE_CHECK(context.header != nullptr);
      return std::make_unique<RecordedBackend>(
          *context.header, context.began_late ? RecordedBackend::Began::kLate
                                              : RecordedBackend::Began::kWithProgram);
    case BackendKind::kNoop:
      return std::make_unique<NativeBackend>(NativeOptions{.name = text,
                                                           .touch = Touch::kNone,
                                                           .answers = context.answers,
                                                           .calls = Calls::kLeftOut});
    case BackendKind::kNative: {
      const auto& library = std::get<NativeLibrary>(source);
      return std::make_unique<NativeBackend>(NativeOptions{.name = text,
                                                           .library = library.preload,
                                                           .refusal = library.refusal,
                                                           .environment = recorded.environment,
                                                           .recorded_break = recorded_break,
                                                           .touch = context.touch,
                                                           .answers = context.answers,
                                                           .threads = context.threads,
                                                           .clock = context.clock});
    }
    case BackendKind::kModel:
      return std::get<const ModelEntry*>(source)->make(recorded.options, recorded_break);
    case BackendKind::kPlugin:
      return make_plugin_backend(std::get<Plugin>(source), text, options);
  }
  return nullptr;
}

}  // namespace heaptape::allocators
