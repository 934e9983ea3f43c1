// heaptape: the list of its commands.
#include "cli/command_groups.h"
#include "cli/external_command.h"
#include "cli/run_program.h"

int main(int argc, char** argv) {
  using namespace heaptape::cli;
  const Program program{
      .description = "Record every malloc call of a real run; replay it on any allocator.",
      .footer =
          "`heaptape COMMAND --help` shows an example.\n"
          "`heaptape NAME` runs heaptape-NAME from the PATH; sweep and tune come with the Python "
          "package.",
      .commands = {add_record,  add_exec,       add_ctl,   add_info,     add_verify,
                   add_recover, add_pack,       add_scrub, add_import,   add_stats,
                   add_export,  add_symbolize,  add_dump,  add_replay,   add_explain,
                   add_holes,   add_allocators, add_diff,  add_scenario, add_completion,
                   add_man},
      .other_command = external_command};
  return run_program(argc, argv, program);
}
