#include <algorithm>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/near_names.h"
#include "recorder/import/trace_format.h"

namespace heaptape::recorder {

const std::vector<TraceFormat>& trace_formats() {
  static const std::vector<TraceFormat> formats = {
      android_format(),      mtrace_format(),    mtrace2_format(),     logalloc_format(),
      heaptrack_format(),    malloclab_format(), mallocbench_format(), trace_replay_format(),
      malloc_bench_format(), malt_format(),      wee_alloc_format()};
  return formats;
}

base::Result<TraceFormat> find_trace_format(const std::string& name) {
  const auto& formats = trace_formats();
  const auto found = std::ranges::find(formats, name, &TraceFormat::name);
  if (found != formats.end()) return *found;
  std::vector<std::string> names;
  for (const TraceFormat& format : formats) names.emplace_back(format.name);
  return base::Error::usage("there is no format " + base::quoted(name) +
                            base::did_you_mean(name, names) + "; choose one of " +
                            base::name_list(formats, &TraceFormat::name));
}

}  // namespace heaptape::recorder
