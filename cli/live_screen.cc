#include "cli/live_screen.h"

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <initializer_list>
#include <string>
#include <string_view>
#include <system_error>

#include "cli/live_text.h"

namespace heaptape::cli {
namespace {

constexpr int kPatienceMs = 1000;  // for text that must not be dropped

sigset_t signal_set(std::initializer_list<int> signals) {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : signals) sigaddset(&set, signal);
  return set;
}

bool can_have_panel(int descriptor) {
  const char* const kind = std::getenv("TERM");
  return isatty(descriptor) == 1 && kind != nullptr && *kind != 0 &&
         std::string_view(kind) != "dumb";
}

bool takes_output(int descriptor, int patience_ms) {
  pollfd wait{descriptor, POLLOUT, 0};
  return poll(&wait, 1, patience_ms) == 1 && (wait.revents & POLLOUT) != 0;
}

}  // namespace

base::Result<std::unique_ptr<LiveScreen>> LiveScreen::open(int descriptor) {
  const bool has_panel = can_have_panel(descriptor);
  const sigset_t taken = signal_set({SIGTSTP, SIGCONT, SIGWINCH});
  base::Descriptor news(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  base::Descriptor signals;
  if (has_panel) signals.reset(signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!news || (has_panel && !signals)) return base::os_error("cannot show a live screen", errno);
  sigset_t mask_before;
  pthread_sigmask(SIG_BLOCK, nullptr, &mask_before);
  if (has_panel) pthread_sigmask(SIG_BLOCK, &taken, nullptr);
  std::unique_ptr<LiveScreen> screen(
      new LiveScreen(descriptor, has_panel, std::move(news), std::move(signals), mask_before));
  try {
    screen->thread_ = std::thread([screen = screen.get()] { screen->run(); });
  } catch (const std::system_error& error) {
    return base::os_error("cannot start a thread for the live screen", error.code().value());
  }
  return screen;
}

LiveScreen::LiveScreen(int descriptor, bool has_panel, base::Descriptor news,
                       base::Descriptor signals, const sigset_t& mask_before)
    : descriptor_(descriptor),
      has_panel_(has_panel),
      news_(std::move(news)),
      signals_(std::move(signals)),
      mask_before_(mask_before) {}

LiveScreen::~LiveScreen() {
  if (thread_.joinable()) {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    eventfd_write(news_.get(), 1);
    thread_.join();
  }
  pthread_sigmask(SIG_SETMASK, &mask_before_, nullptr);
}

void LiveScreen::show(const recorder::LiveFigures& figures) {
  {
    const std::lock_guard lock(mutex_);
    next_ = figures;
  }
  eventfd_write(news_.get(), 1);
}

void LiveScreen::run() {
  // A closed reader or another foreground group is not a reason to end or to stop.
  const sigset_t harmless = signal_set({SIGPIPE, SIGTTOU});
  pthread_sigmask(SIG_BLOCK, &harmless, nullptr);
  for (bool is_over = false; !is_over;) {
    pollfd waits[] = {{news_.get(), POLLIN, 0}, {signals_.get(), POLLIN, 0}};
    if (poll(waits, has_panel_ ? 2 : 1, -1) < 0) continue;
    eventfd_t count = 0;
    eventfd_read(news_.get(), &count);
    if (has_panel_) take_signals();
    const bool has_news = take_news(is_over);
    if (has_news || has_panel_) draw();
  }
  write_text(panel_.take_down(), kPatienceMs);
  if (shown_ && shown_->is_last) write_text(live_line(*shown_) + "\n", kPatienceMs);
}

bool LiveScreen::take_news(bool& is_over) {
  const std::lock_guard lock(mutex_);
  const bool has_news = next_.has_value();
  if (has_news) shown_ = next_;
  next_.reset();
  is_over = is_over_;
  return has_news;
}

void LiveScreen::draw() {
  if (!shown_ || shown_->is_last) return;
  if (has_panel_) {
    draw_panel();
  } else {
    write_text(live_line(*shown_) + "\n", 0);
  }
}

void LiveScreen::draw_panel() {
  if (!is_in_foreground()) {
    write_text(panel_.take_down(), kPatienceMs);
  } else if (takes_output(descriptor_, 0)) {
    write_text(panel_.show(live_lines(*shown_), terminal_size(descriptor_)), kPatienceMs);
  }
}

void LiveScreen::take_signals() {
  signalfd_siginfo info{};
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    // Terminals lose the scrolling region when their size changes.
    if (info.ssi_signo == SIGWINCH) write_text(panel_.take_down(), kPatienceMs);
    if (info.ssi_signo == SIGTSTP) stop_as_told();
  }
}

// Does what the unblocked signal would: nothing if the process ignores it, or if nobody could
// continue it (an orphaned process group).
void LiveScreen::stop_as_told() {
  write_text(panel_.take_down(), kPatienceMs);
  const sigset_t stop = signal_set({SIGTSTP});
  kill(getpid(), SIGTSTP);
  pthread_sigmask(SIG_UNBLOCK, &stop, nullptr);
  pthread_sigmask(SIG_BLOCK, &stop, nullptr);
}

// A terminal that does not control our session has no foreground group of ours: the panel stays.
bool LiveScreen::is_in_foreground() const {
  const pid_t foreground = tcgetpgrp(descriptor_);
  return foreground < 0 || foreground == getpgrp();
}

void LiveScreen::write_text(const std::string& text, int patience_ms) {
  std::string_view rest = text;
  while (!rest.empty() && takes_output(descriptor_, patience_ms)) {
    const ssize_t wrote = write(descriptor_, rest.data(), rest.size());
    if (wrote < 0 && errno != EINTR && errno != EAGAIN) return;
    if (wrote > 0) rest.remove_prefix(static_cast<size_t>(wrote));
  }
}

}  // namespace heaptape::cli
