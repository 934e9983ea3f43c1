// Commands about heaptape itself, for packagers: hidden from --help.
#include <algorithm>
#include <map>
#include <memory>
#include <ostream>
#include <string>

#include "base/near_names.h"
#include "cli/command_groups.h"
#include "cli/command_outline.h"
#include "cli/completion.h"
#include "cli/man_page.h"
#include "cli/option_kinds.h"

namespace heaptape::cli {
namespace {

constexpr char kHidden[] = "";

using Completion = std::string (*)(const ProgramOutline&);

Action print_text(std::string text) {
  return [text = std::move(text)](Console& console) {
    console.out() << text;
    return console.finish();
  };
}

Action print_man(const ProgramOutline& outline, const std::string& page) {
  const std::vector<std::string> names = man_page_names(outline);
  if (page == "list") {
    std::string list;
    for (const std::string& name : names) list += name + "\n";
    return print_text(list);
  }
  if (std::ranges::find(names, page) != names.end()) return print_text(man_page(outline, page));
  return [page, names](Console& console) {
    return console.fail("there is no page '" + page + "'" + base::did_you_mean(page, names) +
                        "; `heaptape man list` lists them");
  };
}

}  // namespace

void add_completion(CLI::App& app, Request& request) {
  auto shell = std::make_shared<Completion>();
  CLI::App* command =
      app.add_subcommand("completion", "Print a completion script for a shell")->group(kHidden);
  add_choice<Completion>(
      command, "shell", *shell,
      {{"bash", bash_completion}, {"zsh", zsh_completion}, {"fish", fish_completion}}, "the shell")
      ->required();
  command->footer("Example: heaptape completion bash");
  request.set_by_making(command, [&app, shell] { return print_text((*shell)(outline(app))); });
}

void add_man(CLI::App& app, Request& request) {
  auto page = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("man", "Print a page of the manual, in roff")->group(kHidden);
  command->add_option("page", *page, "the page, or `list`")->required()->option_text("PAGE");
  command->footer("Example: heaptape man heaptape-record");
  request.set_by_making(command, [&app, page] { return print_man(outline(app), *page); });
}

}  // namespace heaptape::cli
