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

// The text after "plugin:", split.
struct PluginSpec {
  std::string path;
  std::vector<std::string> sets;  // "name=value"
};

// PATH[:name=value,...]. A path may contain colons: the part after the last one is options only if
// it has a '=' and no '/', or is empty.
PluginSpec parse_plugin_spec(const std::string& text);

// A plug-in's description of itself, checked and copied.
struct Plugin {
  heaptape_plugin table = {};  // members beyond the plug-in's own size are null
  std::string name;
  std::string work_unit;  // empty if it counts no work
  std::vector<base::Parameter> parameters;
  std::vector<std::string> counter_names;
};

// The error is one sentence that begins with `owner` ("cannot replay on 'x'"): kNotFound,
// kNewerVersion, or kTarget for a library that is not a plug-in or breaks the rules. An accepted
// library is never unloaded. Runs the constructors of any library it is given.
base::Result<Plugin> load_plugin(const std::string& owner, const std::string& path);

}  // namespace heaptape::allocators
