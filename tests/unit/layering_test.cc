// Holds the tree to the include order and the docs to the schema. schema/README.md has the order
// and its exceptions.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "tests/support/golden.h"
#include "tests/support/temp_dir.h"

namespace heaptape {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = fs::path(tests::golden_path("../..")).lexically_normal();

const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"schema", {"schema"}},
    {"recorder", {"schema", "recorder"}},
    {"allocators", {"schema", "allocators"}},
    {"replayer", {"schema", "allocators", "replayer"}},
    {"scenarios", {"schema", "scenarios"}},
};

// "FILE includes FOLDER" for each exception in the README.
std::set<std::string> listed_exceptions() {
  std::set<std::string> exceptions;
  const std::string readme = tests::read_bytes(kRoot / "schema/README.md");
  const std::regex line("- (\\S+ includes \\S+):");
  for (std::sregex_iterator it(readme.begin(), readme.end(), line), end; it != end; ++it) {
    exceptions.insert((*it)[1]);
  }
  return exceptions;
}

std::set<std::string> breaches_of(const fs::path& file, const std::set<std::string>& allowed) {
  std::set<std::string> breaches;
  std::ifstream in(file);
  const std::regex include("\\s*#\\s*include \"([a-z_]+)/[^\"]+\".*");
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, match, include) || allowed.contains(match[1])) continue;
    breaches.insert(fs::relative(file, kRoot).string() + " includes " + match[1].str());
  }
  return breaches;
}

std::set<std::string> all_breaches() {
  std::set<std::string> breaches;
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cc") continue;
      breaches.merge(breaches_of(entry.path(), allowed));
    }
  }
  return breaches;
}

TEST(Layering, IsBrokenOnlyWhereTheSchemaReadmeSaysSo) {
  EXPECT_EQ(all_breaches(), listed_exceptions());
}

TEST(Layering, KeepsCli11InOneFile) {
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) {
      if (!entry.is_regular_file() || entry.path().filename() == "main.cc") continue;
      EXPECT_EQ(tests::read_bytes(entry.path()).find("<CLI/"), std::string::npos) << entry.path();
    }
  }
}

TEST(MetricsPage, HasEveryFieldOfTheReport) {
  const std::string schema = tests::read_bytes(kRoot / "schema/report.capnp");
  const std::string page = tests::read_bytes(kRoot / "docs/metrics.md");
  const std::regex field("\\n\\s+([a-z][A-Za-z0-9]+) @\\d+");
  for (std::sregex_iterator it(schema.begin(), schema.end(), field), end; it != end; ++it) {
    EXPECT_NE(page.find((*it)[1].str()), std::string::npos) << (*it)[1];
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
