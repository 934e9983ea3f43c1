// The recorder alone, with the commands listed in docs/howto-install.md, for machines that record
// programs but replay nothing. Its package also calls it heaptape.
#include <algorithm>
#include <string>

#include "base/display_text.h"
#include "base/name_list.h"
#include "base/version.h"
#include "cli/command_groups.h"
#include "cli/run_program.h"

namespace heaptape::cli {
namespace {

std::optional<Action> refuse_command(const std::vector<std::string>& ours,
                                     const char* const* words) {
  const std::string name = *words == nullptr ? "" : *words;
  if (name.empty() || name.starts_with('-') || std::ranges::find(ours, name) != ours.end()) {
    return {};
  }
  return [name, ours](Console& console) {
    return console.fail("there is no command " + base::quoted(name) +
                        ": this is the recorder alone, with " + base::name_list(ours) +
                        "; the full tool is the package heaptape " + base::kVersion +
                        " (docs/howto-install.md)");
  };
}

}  // namespace
}  // namespace heaptape::cli

int main(int argc, char** argv) {
  using namespace heaptape::cli;
  const Program program{
      .description = "Record every malloc call of a real run: the recorder of heaptape alone.",
      .footer = "The full tool replays the tapes: the package heaptape (docs/howto-install.md).",
      .commands = {add_record, add_exec, add_ctl, add_info, add_verify},
      .other_command = refuse_command};
  return run_program(argc, argv, program);
}
