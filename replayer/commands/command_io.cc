#include "replayer/commands/command_io.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <ostream>

#include "schema/display_text.h"

namespace heaptape::replayer {
namespace {

constexpr uint64_t kRedrawNs = 100'000'000;

uint64_t steady_ns() {
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch() /
                               std::chrono::nanoseconds(1));
}

}  // namespace

int complain(std::ostream& err, const schema::Error& error) {
  return complain(err, error.message);
}

int complain(std::ostream& err, const std::string& sentence) {
  err << "heaptape: " << schema::display_text(sentence) << "\n";
  return kExitUnusable;
}

int finish(std::ostream& out, std::ostream& err, int exit_code) {
  out.flush();
  return out ? exit_code : complain(err, std::string("cannot write to standard output"));
}

Progress::Progress(std::string what)
    : what_(std::move(what)),
      enabled_(isatty(STDERR_FILENO) != 0),
      next_ns_(steady_ns() + 5 * kRedrawNs) {}

Progress::~Progress() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void Progress::show(double share) {
  if (!enabled_) return;
  const uint64_t now_ns = steady_ns();
  if (now_ns < next_ns_) return;
  next_ns_ = now_ns + kRedrawNs;
  drawn_ = true;
  std::fprintf(stderr, "\r%s %3.0f %%\033[K", what_.c_str(), share * 100);
}

}  // namespace heaptape::replayer
