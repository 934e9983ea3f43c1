// Options about call sites and symbols, the same in every command that names sites.
#pragma once

#include <CLI/CLI.hpp>

#include "replayer/sites/site_rules.h"
#include "replayer/symbols/symbol_options.h"

namespace heaptape::cli {

// --hide and --only.
void add_site_filters(CLI::App* command, replayer::SiteFilters& filters);

// --debug-dir and --debuginfod.
void add_symbols(CLI::App* command, replayer::SymbolOptions& symbols);

}  // namespace heaptape::cli
