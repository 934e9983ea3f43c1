// Holds the tree to the include order of docs/architecture.md, and the docs to the schema.
#include <gtest/gtest.h>

#include <filesystem>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(tests::golden_path("../..")).lexically_normal();

// The top level: what each folder may include. Below it, the USES lists of the CMakeLists.txt files
// say the same for every folder.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"base", {"base"}},
    {"schema", {"base", "schema"}},
    {"recorder", {"base", "schema", "recorder"}},
    {"allocators", {"base", "schema", "allocators"}},
    {"scenarios", {"base", "schema", "scenarios"}},
    {"replayer", {"base", "schema", "allocators", "replayer"}},
    {"python", {"base", "schema", "replayer", "python"}},
    {"cli", {"base", "schema", "recorder", "allocators", "scenarios", "replayer", "cli"}},
};

// By folder, folders.
using Arrows = std::map<std::string, std::set<std::string>>;

bool is_source(const fs::path& file) {
  return file.extension() == ".h" || file.extension() == ".cc";
}

std::vector<fs::path> sources() {
  std::vector<fs::path> files;
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (is_source(entry.path())) files.push_back(entry.path());
    }
  }
  return files;
}

// The folders of our own headers that a file includes.
std::set<std::string> included_folders(const fs::path& file) {
  std::set<std::string> folders;
  const std::string text = tests::read_bytes(file);
  const std::regex include("\\s*#\\s*include \"([a-z_/]+)/[^/\"]+\"");
  for (std::sregex_iterator it(text.begin(), text.end(), include), end; it != end; ++it) {
    folders.insert((*it)[1]);
  }
  return folders;
}

// What the sources of each folder include of others.
Arrows included() {
  Arrows arrows;
  for (const fs::path& file : sources()) {
    const std::string folder = fs::relative(file.parent_path(), kRoot);
    if (folder == "allocators/plugin/example") continue;  // built as users' plug-ins are
    std::set<std::string>& used = arrows[folder];
    used.merge(included_folders(file));
    used.erase(folder);
  }
  return arrows;
}

// What the CMakeLists.txt of each folder lists behind USES.
Arrows declared() {
  Arrows arrows;
  const std::regex call("heaptape_folder\\(([^)]*)\\)");
  const std::regex uses("\\bUSES((?:\\s+[a-z_/]+)*)");
  for (const auto& [top, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / top)) {
      if (entry.path().filename() != "CMakeLists.txt") continue;
      const std::string text = tests::read_bytes(entry.path());
      std::smatch body;
      if (!std::regex_search(text, body, call)) continue;
      std::set<std::string>& used = arrows[fs::relative(entry.path().parent_path(), kRoot)];
      const std::string arguments = body[1];
      std::smatch list;
      if (!std::regex_search(arguments, list, uses)) continue;
      std::istringstream words(list[1]);
      used.insert(std::istream_iterator<std::string>(words), {});
    }
  }
  return arrows;
}

// A folder that can be reached from itself; empty if there is none.
std::string circle(const Arrows& arrows) {
  for (const auto& [start, unused] : arrows) {
    std::set<std::string> reached;
    std::vector<std::string> left(arrows.at(start).begin(), arrows.at(start).end());
    while (!left.empty()) {
      const std::string folder = left.back();
      left.pop_back();
      if (folder == start) return start;
      if (!reached.insert(folder).second || !arrows.contains(folder)) continue;
      left.insert(left.end(), arrows.at(folder).begin(), arrows.at(folder).end());
    }
  }
  return "";
}

TEST(Layering, HoldsAtTheTopLevel) {
  for (const auto& [folder, used] : included()) {
    const std::set<std::string>& allowed = kMayInclude.at(folder.substr(0, folder.find('/')));
    for (const std::string& other : used) {
      EXPECT_TRUE(allowed.contains(other.substr(0, other.find('/')))) << folder << " -> " << other;
    }
  }
}

// No folder includes what its list lacks, and no list names what its folder does not include.
TEST(Layering, MatchesTheListOfEachFolder) {
  Arrows listed = declared();
  for (const auto& [folder, used] : included()) EXPECT_EQ(listed[folder], used) << folder;
}

TEST(Layering, HasNoCircles) {
  EXPECT_EQ(circle(declared()), "");
}

TEST(Layering, TestFindsACircle) {
  EXPECT_EQ(circle({{"a", {"b"}}, {"b", {"c"}}, {"c", {"b"}}}), "b");
}

// Headers that bring CLI11 along are for each other and for the files with options.
TEST(Layering, KeepsCli11InItsFiles) {
  const std::set<std::string> headers = {"cli/command_groups.h", "cli/option_kinds.h",
                                         "cli/request.h", "cli/site_options.h"};
  std::set<std::string> allowed = {"cli/main.cc",
                                   "cli/recorder_main.cc",
                                   "cli/recorder_commands.cc",
                                   "cli/tape_making_commands.cc",
                                   "cli/call_commands.cc",
                                   "cli/command_line.cc",
                                   "cli/command_outline.cc",
                                   "cli/self_commands.cc",
                                   "cli/heap_commands.cc",
                                   "cli/option_kinds.cc",
                                   "cli/site_options.cc",
                                   "cli/stacks_option.cc"};
  allowed.insert(headers.begin(), headers.end());
  for (const fs::path& file : sources()) {
    if (allowed.contains(fs::relative(file, kRoot).string())) continue;
    const std::string text = tests::read_bytes(file);
    EXPECT_EQ(text.find("<CLI/"), std::string::npos) << file;
    for (const std::string& header : headers) {
      EXPECT_EQ(text.find("#include \"" + header), std::string::npos) << file;
    }
  }
}

TEST(MetricsPage, HasEveryFieldOfTheReport) {
  const std::string schema = tests::read_bytes(kRoot / "schema/report/report.capnp");
  const std::string page = tests::read_bytes(kRoot / "docs/metrics.md");
  const std::regex field("\\n\\s+([a-z][A-Za-z0-9]+) @\\d+");
  for (std::sregex_iterator it(schema.begin(), schema.end(), field), end; it != end; ++it) {
    EXPECT_NE(page.find((*it)[1].str()), std::string::npos) << (*it)[1];
  }
}

// Models have one line for all their folders.
TEST(ArchitecturePage, HasALineForEachFolder) {
  const std::string page = tests::read_bytes(kRoot / "docs/architecture.md");
  for (const auto& [folder, used] : declared()) {
    if (folder.starts_with("allocators/models/")) continue;
    const std::regex line("\n\\| (\\[`" + folder + "/`\\]\\([^)]*\\)|`" + folder + "/`) \\|");
    EXPECT_TRUE(std::regex_search(page, line)) << folder;
  }
}

// Relative links of the pages: [text](path#anchor).
std::vector<fs::path> links_of(const fs::path& page) {
  std::vector<fs::path> links;
  const std::string text = tests::read_bytes(page);
  const std::regex link("\\]\\(([^)#:]+)(#[^)]*)?\\)");
  for (std::sregex_iterator it(text.begin(), text.end(), link), end; it != end; ++it) {
    links.push_back(page.parent_path() / (*it)[1].str());
  }
  return links;
}

TEST(Pages, LinkToFilesThatExist) {
  for (const auto& entry : fs::recursive_directory_iterator(kRoot)) {
    const std::string relative = fs::relative(entry.path(), kRoot);
    if (entry.path().extension() != ".md" || relative.starts_with("build/")) continue;
    for (const fs::path& link : links_of(entry.path())) {
      EXPECT_TRUE(fs::exists(link)) << relative << " links to " << link;
    }
  }
}

}  // namespace
}  // namespace heaptape
