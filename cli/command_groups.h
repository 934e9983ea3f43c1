// Every command: adds its options, and sets `request` to run it. Each program lists its commands:
// main.cc, recorder_main.cc.
#pragma once

#include <CLI/CLI.hpp>

#include "cli/request.h"

namespace heaptape::cli {

// Commands for recording: recorder_commands.cc.
void add_record(CLI::App& app, Request& request);
void add_exec(CLI::App& app, Request& request);
void add_ctl(CLI::App& app, Request& request);
void add_info(CLI::App& app, Request& request);
void add_verify(CLI::App& app, Request& request);

// Commands that make tapes: tape_making_commands.cc.
void add_recover(CLI::App& app, Request& request);
void add_pack(CLI::App& app, Request& request);
void add_scrub(CLI::App& app, Request& request);
void add_import(CLI::App& app, Request& request);
void add_scenario(CLI::App& app, Request& request);

// Commands for the calls on a tape: call_commands.cc.
void add_stats(CLI::App& app, Request& request);
void add_export(CLI::App& app, Request& request);
void add_symbolize(CLI::App& app, Request& request);
void add_dump(CLI::App& app, Request& request);

// Commands for allocators and reports: heap_commands.cc.
void add_replay(CLI::App& app, Request& request);
void add_explain(CLI::App& app, Request& request);
void add_holes(CLI::App& app, Request& request);
void add_allocators(CLI::App& app, Request& request);
void add_diff(CLI::App& app, Request& request);

// Hidden commands about heaptape itself: self_commands.cc. They read `app` after parsing.
void add_completion(CLI::App& app, Request& request);
void add_man(CLI::App& app, Request& request);

}  // namespace heaptape::cli
