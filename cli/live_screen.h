// The output of `record --live`.
#pragma once

#include <signal.h>

#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "base/descriptor.h"
#include "base/result.h"
#include "cli/terminal_panel.h"
#include "recorder/collector/live_figures.h"

namespace heaptape::cli {

// In a terminal, a panel at the bottom (terminal_panel.h) while this process is in the foreground.
// Stopping the process (Ctrl-Z) and the destructor take it down. Elsewhere, and in a terminal that
// only prints (TERM=dumb), each show() prints a line. The last figures are always a line. Figures
// that the terminal does not take, as after Ctrl-S, are dropped. Only the object's own thread waits
// for the terminal.
class LiveScreen {
 public:
  // Writes to `descriptor`, which is borrowed. In a terminal, SIGTSTP, SIGCONT and SIGWINCH are
  // blocked while the object lives, in the calling thread and in those that it starts. So make it
  // after RecorderSignals, which gives a program the earlier mask.
  static base::Result<std::unique_ptr<LiveScreen>> open(int descriptor);
  ~LiveScreen();
  LiveScreen(const LiveScreen&) = delete;
  LiveScreen& operator=(const LiveScreen&) = delete;

  // Any thread; returns at once.
  void show(const recorder::LiveFigures& figures);

 private:
  LiveScreen(int descriptor, bool has_panel, base::Descriptor news, base::Descriptor signals,
             const sigset_t& mask_before);
  void run();
  bool take_news(bool& is_over);
  void draw();
  void draw_panel();
  void take_signals();
  void stop_as_told();
  void write_text(const std::string& text, int patience_ms);
  bool is_in_foreground() const;

  const int descriptor_;
  const bool has_panel_;  // else lines
  base::Descriptor news_;
  base::Descriptor signals_;
  const sigset_t mask_before_;
  std::mutex mutex_;  // guards the next two
  std::optional<recorder::LiveFigures> next_;
  bool is_over_ = false;
  std::optional<recorder::LiveFigures> shown_;  // only the thread uses this and the next
  TerminalPanel panel_;
  std::thread thread_;
};

}  // namespace heaptape::cli
