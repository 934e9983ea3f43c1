// Commands whose options are told apart from the list of all, in command_line.cc: what each takes,
// and that `request` runs it.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/request.h"

namespace heaptape::cli {

// Of the calls on a tape: call_commands.cc.
void add_stats(CLI::App& app, Request& request);
void add_export(CLI::App& app, Request& request);
void add_symbolize(CLI::App& app, Request& request);
void add_dump(CLI::App& app, Request& request);

// Of allocators: heap_commands.cc.
void add_replay(CLI::App& app, Request& request);
void add_explain(CLI::App& app, Request& request);
void add_holes(CLI::App& app, Request& request);
void add_allocators(CLI::App& app, Request& request);

// About heaptape itself, hidden: self_commands.cc. They read `app` after it has parsed the words.
void add_completion(CLI::App& app, Request& request);
void add_man(CLI::App& app, Request& request);

}  // namespace heaptape::cli
