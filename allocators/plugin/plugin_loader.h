// Loads allocator models from shared libraries: the C interface of heaptape_plugin.h.
#pragma once

#include <string>
#include <vector>

#include "allocators/plugin/heaptape_plugin.h"
#include "base/parameters.h"
#include "base/result.h"

namespace heaptape::allocators {

// An option of heaptape's own, for any plug-in.
inline constexpr char kCheckParameter[] = "check";

// The words behind "plugin:", taken apart.
struct PluginSpec {
  std::string path;
  std::vector<std::string> sets;  // "name=value"
};

// PATH[:name=value,...]. A path may have colons: what follows the last one are options only if it
// has a '=' and no '/', or is nothing at all.
PluginSpec parse_plugin_spec(const std::string& text);

// What a plug-in says of itself, checked and copied.
struct Plugin {
  heaptape_plugin table = {};  // what the plug-in's own does not reach to is null
  std::string name;
  std::string work_unit;  // empty: it counts no work
  std::vector<base::Parameter> parameters;
  std::vector<std::string> counter_names;
};

// The error is one sentence that begins with `owner` ("cannot replay on 'x'"): kNotFound,
// kNewerVersion, or kTarget for a library that is not a plug-in or breaks the rules. An
// accepted library is never unloaded. Runs the constructors of whatever library it is.
base::Result<Plugin> load_plugin(const std::string& owner, const std::string& path);

}  // namespace heaptape::allocators
