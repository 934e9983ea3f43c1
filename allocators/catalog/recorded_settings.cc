#include "allocators/catalog/recorded_settings.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "allocators/catalog/allocator_family.h"
#include "schema/tape/allocator_settings.h"

namespace heaptape::allocators {
namespace {

struct OptionOfSetting {
  std::string_view setting;  // topic_of() it
  const char* option;        // of a model
};

constexpr OptionOfSetting kOptions[] = {
    {"glibc.malloc.arena_max", "arena_max"},
    {"glibc.malloc.mmap_max", "mmap_max"},
    {"glibc.malloc.mmap_threshold", "mmap_threshold"},
    {"glibc.malloc.tcache_count", "tcache_count"},
    {"glibc.malloc.top_pad", "top_pad"},
    {"glibc.malloc.trim_threshold", "trim_threshold"},
    {"dirty_decay_ms", "dirty_decay_ms"},
    {"muzzy_decay_ms", "muzzy_decay_ms"},
    {"narenas", "arenas"},
    {"oversize_threshold", "oversize_threshold"},
    {"tcache", "tcache"},
};

std::string_view name_of(std::string_view setting) {
  return setting.substr(0, setting.find('='));
}

// "NAME=VALUE" for each part of a list, and for a variable that is none itself.
std::vector<std::string> parts_of(const std::string& setting) {
  const bool is_tunables = name_of(setting) == "GLIBC_TUNABLES";
  if (!is_tunables && name_of(setting) != "MALLOC_CONF") return {setting};
  std::vector<std::string> parts;
  std::string_view rest = std::string_view(setting).substr(setting.find('=') + 1);
  while (!rest.empty()) {
    std::string part(rest.substr(0, rest.find(is_tunables ? ':' : ',')));
    rest.remove_prefix(std::min(part.size() + 1, rest.size()));
    if (const size_t at = part.find(':'); !is_tunables && at != part.npos) part[at] = '=';
    if (part.find('=') != part.npos) parts.push_back(std::move(part));
  }
  return parts;
}

// One name for settings of one thing.
std::string_view topic_of(std::string_view part) {
  constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
      {"MALLOC_ARENA_MAX", "glibc.malloc.arena_max"},
      {"MALLOC_ARENA_TEST", "glibc.malloc.arena_test"},
      {"MALLOC_MMAP_MAX_", "glibc.malloc.mmap_max"},
      {"MALLOC_MMAP_THRESHOLD_", "glibc.malloc.mmap_threshold"},
      {"MALLOC_PERTURB_", "glibc.malloc.perturb"},
      {"MALLOC_TOP_PAD_", "glibc.malloc.top_pad"},
      {"MALLOC_TRIM_THRESHOLD_", "glibc.malloc.trim_threshold"},
  };
  const std::string_view name = name_of(part);
  const auto alias =
      std::ranges::find(kAliases, name, &std::pair<std::string_view, std::string_view>::first);
  return alias == std::end(kAliases) ? name : alias->second;
}

// A model takes "true" and "false" as words of its own.
std::string value_of(std::string_view part) {
  const std::string_view value = part.substr(std::min(part.size(), part.find('=') + 1));
  return value == "true" ? "on" : value == "false" ? "off" : std::string(value);
}

// False if the model has no such option, or not with that value.
bool set_option(const BackendSpec& spec, const ModelEntry& model, const std::string& part,
                base::Values& options) {
  for (const OptionOfSetting& known : kOptions) {
    if (known.setting != topic_of(part)) continue;
    const auto parameters = model.parameters();
    const bool exists =
        std::ranges::find(parameters, known.option, &base::Parameter::name) != parameters.end();
    if (!exists) return false;
    if (std::ranges::find(spec.given, known.option) != spec.given.end()) return true;
    const auto values =
        base::parse_values("", parameters, {std::string(known.option) + "=" + value_of(part)});
    if (!values.ok()) return false;
    options.set(known.option, (*values)[known.option]);
    return true;
  }
  return false;
}

bool gives(const BackendSpec& spec, std::string_view part) {
  return std::ranges::any_of(spec.environment, [part](const std::string& entry) {
    return std::ranges::any_of(parts_of(entry), [part](const std::string& given) {
      return topic_of(given) == topic_of(part);
    });
  });
}

// Adds the parts of a setting to the environment: to the variable that is there already, if that is
// a list, before what it has.
void add_to(std::vector<std::string>& environment, const std::string& variable,
            const std::vector<std::string>& parts) {
  const bool is_conf = variable == "MALLOC_CONF";
  if (!is_conf && variable != "GLIBC_TUNABLES") {
    environment.insert(environment.end(), parts.begin(), parts.end());
    return;
  }
  std::string list;
  for (std::string part : parts) {
    if (is_conf) part[part.find('=')] = ':';
    list += (list.empty() ? "" : is_conf ? "," : ":") + part;
  }
  const auto there = std::ranges::find(environment, variable, name_of);
  if (there == environment.end()) {
    environment.push_back(variable + "=" + list);
    return;
  }
  const std::string value = there->substr(variable.size() + 1);
  *there = variable + "=" + list + (value.empty() ? "" : is_conf ? "," : ":") + value;
}

}  // namespace

RecordedSettings with_recorded_settings(const BackendSpec& spec, const schema::TapeHeader& header,
                                        Steer steer) {
  RecordedSettings result{.environment = spec.environment, .options = spec.options};
  const std::string family = allocator_family(header);
  const bool applies = steer == Steer::kAsRecorded && spec.family() == family;
  const auto* const model = std::get_if<const ModelEntry*>(&spec.source);
  for (const std::string& recorded : header.settings) {
    const std::string setting = schema::setting_for(family, recorded);
    std::vector<std::string> parts = parts_of(setting);
    std::erase_if(parts, [&spec](const std::string& part) { return gives(spec, part); });
    if (setting.empty() || parts.empty()) continue;
    if (applies && spec.kind == BackendKind::kNative) {
      add_to(result.environment, std::string(name_of(setting)), parts);
      result.obeyed.insert(result.obeyed.end(), parts.begin(), parts.end());
      continue;
    }
    for (const std::string& part : parts) {
      const bool is_set =
          applies && model != nullptr && set_option(spec, **model, part, result.options);
      (is_set ? result.obeyed : result.left_out).push_back(part);
    }
  }
  return result;
}

}  // namespace heaptape::allocators
