#include "cli/console.h"

#include <unistd.h>

#include <cstdio>
#include <ostream>

#include "base/clock.h"
#include "base/display_text.h"

namespace heaptape::cli {
namespace {

constexpr uint64_t kRedrawNs = 100 * base::kMillisecondNs;

}  // namespace

int complain(std::ostream& err, const base::Error& error) {
  return complain(err, error.message);
}

int complain(std::ostream& err, const std::string& sentence) {
  err << "heaptape: " << base::display_text(sentence) << "\n";
  return kExitUnusable;
}

int finish(std::ostream& out, std::ostream& err, int exit_code) {
  out.flush();
  return out ? exit_code : complain(err, std::string("cannot write to standard output"));
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      enabled_(isatty(STDERR_FILENO) != 0),
      next_ns_(base::monotonic_ns() + 5 * kRedrawNs) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::show(double share) {
  if (!enabled_) return;
  const uint64_t now_ns = base::monotonic_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kRedrawNs;
  drawn_ = true;
  std::fprintf(stderr, "\r%s %3.0f %%\033[K", what_.c_str(), share * 100);
}

}  // namespace heaptape::cli
