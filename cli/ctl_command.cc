#include <unistd.h>

#include <ostream>

#include "base/number_text.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "recorder/collector/mark_client.h"

namespace heaptape::cli {
namespace {

constexpr int kPatienceMs = 10'000;

}  // namespace

int run_ctl(const CtlOptions& options, Console& console) {
  if (options.verb != "mark") {
    return console.fail("ctl has no action '" + options.verb +
                        "': type `heaptape ctl PID mark NAME`, the pid first");
  }
  if (options.pid == static_cast<uint32_t>(getpid())) {
    return console.fail(
        "process " + std::to_string(options.pid) +
        " is this `heaptape ctl`: the shell replaced itself with its last command. Add another "
        "command after it: `heaptape ctl ... ; :`");
  }
  const auto place = recorder::request_mark(options.pid, options.name, kPatienceMs);
  if (!place.ok()) return console.fail(place.error());
  console.out() << "mark " << options.name << " after call #" << base::grouped(place->event)
                << base::format_text(", %.3f s", static_cast<double>(place->time_ns) / 1e9) << "\n";
  return console.finish();
}

}  // namespace heaptape::cli
