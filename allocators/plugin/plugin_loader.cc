#include "allocators/plugin/plugin_loader.h"

#include <dlfcn.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

#include "allocators/plugin/library_check.h"

namespace heaptape::allocators {
namespace {

using base::Error;
using base::ErrorCode;
using base::Parameter;
using base::Result;
using base::Status;

constexpr char kEntryPoint[] = "heaptape_plugin_v1";
constexpr size_t kMaxNameBytes = 64;
constexpr size_t kMaxTextBytes = 1000;
constexpr size_t kMaxListed = 1000;  // parameters, choices or counters: more is garbage

// The ABI of version 1 as first released. A later member must come after all of these.
constexpr size_t kFirstTableBytes = 160;
static_assert(sizeof(heaptape_plugin) == kFirstTableBytes);
static_assert(sizeof(heaptape_host) == 64);
static_assert(sizeof(heaptape_parameter) == 32);
static_assert(sizeof(heaptape_block) == 16);

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

bool is_name(const char* text) {
  const size_t length = text == nullptr ? 0 : strnlen(text, kMaxNameBytes + 1);
  if (length == 0 || length > kMaxNameBytes || !is_letter(*text)) return false;
  return std::all_of(text, text + length,
                     [](char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '_'; });
}

std::string copy(const char* text) {
  return text == nullptr ? "" : std::string(text, strnlen(text, kMaxTextBytes));
}

// Reads a table that foreign code filled in. Trusts only that its pointers point to what the header
// says.
class TableReader {
 public:
  TableReader(std::string owner, const heaptape_plugin* table)
      : owner_(std::move(owner)), table_(table) {}

  Result<Plugin> read() {
    if (table_ == nullptr) return broken(std::string(kEntryPoint) + " returned NULL");
    HEAPTAPE_RETURN_IF_ERROR(read_version());
    HEAPTAPE_RETURN_IF_ERROR(read_functions());
    HEAPTAPE_RETURN_IF_ERROR(read_traits());
    HEAPTAPE_RETURN_IF_ERROR(read_parameters());
    HEAPTAPE_RETURN_IF_ERROR(read_counters());
    return std::move(plugin_);
  }

 private:
  Error broken(const std::string& why, ErrorCode code = ErrorCode::kTarget) const {
    return {code, owner_ + ": " + why};
  }

  Status read_version() {
    const uint32_t version = table_->abi_version;
    if (version != HEAPTAPE_PLUGIN_ABI) {
      return broken("it is of ABI version " + std::to_string(version) +
                        ", this heaptape supports " + std::to_string(HEAPTAPE_PLUGIN_ABI) +
                        ": build it with the heaptape_plugin.h of this version",
                    version > HEAPTAPE_PLUGIN_ABI ? ErrorCode::kNewerVersion : ErrorCode::kTarget);
    }
    if (table_->struct_size < kFirstTableBytes) {
      return broken("its struct_size is " + std::to_string(table_->struct_size) +
                    ": it must be sizeof(heaptape_plugin)");
    }
    std::memcpy(&plugin_.table, table_,
                std::min<size_t>(table_->struct_size, sizeof plugin_.table));
    return {};
  }

  Status read_functions() {
    const heaptape_plugin& table = plugin_.table;
    const std::pair<const char*, bool> needed[] = {
        {"create", table.create != nullptr},         {"destroy", table.destroy != nullptr},
        {"allocate", table.allocate != nullptr},     {"release", table.release != nullptr},
        {"reallocate", table.reallocate != nullptr},
    };
    for (const auto& [name, is_there] : needed) {
      if (!is_there) return broken(std::string("it has no ") + name + "()");
    }
    if (table.counter_count != 0 && table.read_counters == nullptr) {
      return broken("it lists counters but has no read_counters()");
    }
    plugin_.work_unit = table.work == nullptr ? "" : copy(table.work_unit);
    if (table.work != nullptr && plugin_.work_unit.empty()) {
      return broken("it has work() but no work_unit");
    }
    return {};
  }

  Status read_traits() {
    plugin_.name = copy(plugin_.table.name);
    if (plugin_.name.empty()) return broken("it has no name");
    const uint32_t granule = plugin_.table.granule_bytes;
    if (!std::has_single_bit(granule) || granule < 8 || granule > 64) {
      return broken("its granule_bytes is " + std::to_string(granule) +
                    ": it must be 8, 16, 32 or 64");
    }
    return {};
  }

  // One of several `what`s ("parameter").
  Status check_name(const char* what, size_t index, const char* name, std::set<std::string>& seen) {
    const std::string which = std::string(what) + " " + std::to_string(index);
    if (!is_name(name)) {
      return broken("the name of " + which + " is '" + copy(name) +
                    "': it must be a letter, then letters, digits and '_', at most " +
                    std::to_string(kMaxNameBytes));
    }
    if (!seen.insert(name).second) {
      return broken("two " + std::string(what) + "s are called '" + name + "'");
    }
    return {};
  }

  Status check_list(const char* what, size_t count, const void* list) {
    if (count > kMaxListed) {
      return broken("it lists " + std::to_string(count) + " " + what + "s: at most " +
                    std::to_string(kMaxListed) + " are allowed");
    }
    if (count != 0 && list == nullptr) {
      return broken("its list of " + std::string(what) + "s is NULL");
    }
    return {};
  }

  Status read_parameters() {
    const heaptape_plugin& table = plugin_.table;
    HEAPTAPE_RETURN_IF_ERROR(check_list("parameter", table.parameter_count, table.parameters));
    std::set<std::string> seen;
    for (size_t i = 0; i < table.parameter_count; ++i) {
      const heaptape_parameter& given = table.parameters[i];
      HEAPTAPE_RETURN_IF_ERROR(check_name("parameter", i, given.name, seen));
      if (given.name == std::string(kCheckParameter)) {
        return broken("it has a parameter 'check', a name that heaptape keeps for itself");
      }
      Parameter parameter{given.name, given.default_value, copy(given.description), {}};
      HEAPTAPE_RETURN_IF_ERROR(read_choices(given, parameter));
      plugin_.parameters.push_back(std::move(parameter));
    }
    return {};
  }

  Status read_choices(const heaptape_parameter& given, Parameter& parameter) {
    if (given.choices == nullptr) return {};
    std::set<std::string> seen;
    for (size_t i = 0; given.choices[i] != nullptr; ++i) {
      HEAPTAPE_RETURN_IF_ERROR(check_list("choice", i + 1, given.choices));
      parameter.choices.push_back(copy(given.choices[i]));
      const std::string& choice = parameter.choices.back();
      if (choice.empty() || choice.find_first_of(",:/ ") != std::string::npos ||
          !seen.insert(choice).second) {
        return broken("a choice of the parameter '" + parameter.name + "' is '" + choice +
                      "': each must be a single word, without ',', ':', '/' and blanks");
      }
    }
    if (parameter.value < parameter.choices.size()) return {};
    return broken("the default of the parameter '" + parameter.name +
                  "' is not one of its choices");
  }

  Status read_counters() {
    const heaptape_plugin& table = plugin_.table;
    HEAPTAPE_RETURN_IF_ERROR(check_list("counter", table.counter_count, table.counter_names));
    std::set<std::string> seen;
    for (size_t i = 0; i < table.counter_count; ++i) {
      HEAPTAPE_RETURN_IF_ERROR(check_name("counter", i, table.counter_names[i], seen));
      plugin_.counter_names.emplace_back(table.counter_names[i]);
    }
    return {};
  }

  std::string owner_;
  const heaptape_plugin* table_;
  Plugin plugin_;
};

// "verbose" in ./libmine.so:verbose was meant as an option.
std::string advice_on_missing(const std::string& path) {
  const size_t colon = path.rfind(':');
  std::error_code error;
  if (colon == std::string::npos || !std::filesystem::exists(path.substr(0, colon), error)) {
    return "";
  }
  return "; options are of the form name=value, and '" + path.substr(colon + 1) + "' is not";
}

}  // namespace

PluginSpec parse_plugin_spec(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos) return {text, {}};
  const std::string options = text.substr(colon + 1);
  const bool is_path = !options.empty() && (options.find('=') == std::string::npos ||
                                            options.find('/') != std::string::npos);
  if (is_path) return {text, {}};
  return {text.substr(0, colon), base::split_sets(options)};
}

Result<Plugin> load_plugin(const std::string& owner, const std::string& path) {
  std::error_code error;
  if (const std::string why = why_no_library(path); !why.empty()) {
    const bool is_there = std::filesystem::exists(path, error);
    return Error{is_there ? ErrorCode::kTarget : ErrorCode::kNotFound,
                 owner + ": " + why + (is_there ? "" : advice_on_missing(path))};
  }
  // A name without '/' would be searched for in the system's directories.
  const std::string absolute = std::filesystem::absolute(path, error);
  std::unique_ptr<void, int (*)(void*)> library(dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL),
                                                dlclose);
  if (library == nullptr) {
    return Error::target(owner + ": the loader says: " + copy(dlerror()));
  }
  void* const symbol = dlsym(library.get(), kEntryPoint);
  if (symbol == nullptr) {
    return Error::target(
        owner + ": it exports no " + kEntryPoint +
        "(), so it is not a plug-in (if programs get their malloc from it, write lib:PATH)");
  }
  const auto describe = reinterpret_cast<decltype(&heaptape_plugin_v1)>(symbol);
  HEAPTAPE_ASSIGN_OR_RETURN(Plugin plugin, TableReader(owner, describe()).read());
  // Never unloaded: it may have left pointers to itself (atexit, thread-local destructors).
  static_cast<void>(library.release());
  return plugin;
}

}  // namespace heaptape::allocators
