// How commands set the action to run. Only for command_line.cc and the files of command_groups.h.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <memory>
#include <utility>

#include "cli/command_line.h"

namespace heaptape::cli {

// The user's request, once the callback of a command has set it.
class Request {
 public:
  void set_by(CLI::App* command, Action action) {
    command->callback([this, action = std::move(action)] { action_ = action; });
  }
  // Runs the action that make() returns. make() is called while the CLI::App still exists.
  void set_by_making(CLI::App* command, std::function<Action()> make) {
    command->callback([this, make = std::move(make)] { action_ = make(); });
  }
  // Runs run(*options, console).
  template <typename Options, typename Run>
  void set_by(CLI::App* command, std::shared_ptr<Options> options, Run run) {
    set_by(command, [options, run](Console& console) { return run(*options, console); });
  }
  const Action& action() const { return action_; }

 private:
  Action action_ = [](Console& console) {
    return console.fail("a command is missing; see `heaptape --help`");
  };
};

}  // namespace heaptape::cli
