// The sentences of a verdict, the same in terminals, pages and reports. docs/metrics.md, "The
// verdict".
#pragma once

#include <string>

#include "replayer/answers/verdict.h"

namespace heaptape::replayer {

// For commands in reports and pages, which outlive the tape's path.
inline constexpr const char* kSomeTape = "TAPE";

// Sentences without a line end, fit to print. Commands stand between backquotes.
std::string headline(const Verdict& verdict);
std::string evidence(const Verdict& verdict, const Finding& finding);
// A clause on what to do; may be empty. `tape`: the file to name in commands.
std::string action(const Verdict& verdict, const Finding& finding, const std::string& tape);

// The headline, and a numbered finding for each line with what to do below it, indented.
std::string verdict_text(const Verdict& verdict, const std::string& tape);

}  // namespace heaptape::replayer
