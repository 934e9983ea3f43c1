#include <gtest/gtest.h>

#include <sstream>

#include "cli/commands.h"
#include "tests/support/reports.h"
#include "tests/support/temp_dir.h"

namespace heaptape::cli {
namespace {

class DiffCommand : public testing::Test {
 protected:
  DiffCommand() {
    write("base.json", tests::sample_report_json());
    write("new.json", tests::sample_report_json());
    options_.paths = {dir_.file("base.json"), dir_.file("new.json")};
  }

  void write(const std::string& name, const std::string& text) {
    tests::write_bytes(dir_.file(name), text);
  }
  // Makes the new report differ from the base.
  void change(const std::string& from, const std::string& to) {
    std::string text = tests::sample_report_json();
    const size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos);
    write("new.json", text.replace(at, from.size(), to));
  }
  int run() { return run_diff(options_, console_); }
  void expect_refused(const std::string& part) {
    EXPECT_EQ(run(), 2);
    EXPECT_EQ(out_.str(), "");
    EXPECT_TRUE(err_.str().starts_with("heaptape: ")) << err_.str();
    EXPECT_NE(err_.str().find(part), std::string::npos) << err_.str();
    EXPECT_EQ(err_.str().find('\n'), err_.str().size() - 1) << "one sentence, one line";
  }

  tests::TempDir dir_;
  DiffOptions options_;
  std::ostringstream out_;
  std::ostringstream err_;
  Console console_{out_, err_};
};

TEST_F(DiffCommand, ReturnsZeroForReportsThatPass) {
  options_.fail_if = {"peak.committedBytes>+5%", "end.holes.bytes>+0"};
  EXPECT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\nPASS: 4 gate checks passed, 2 runs compared\n"), std::string::npos);
  EXPECT_EQ(err_.str(), "");
}

// The sample, of a process with `owners`.
std::string report_with_owners(const std::string& owners) {
  std::string json = tests::sample_report_json();
  return json.insert(json.find("\"path\""),
                     R"("largestSample": {"anonymousBytes": 900, "anonymous": {"mallocBytes": 100,
                     "besideMallocBytes": 800, "stackBytes": 0, "owners": [)" +
                         owners + "]}}, ");
}

TEST_F(DiffCommand, TakesMemoryOfOwners) {
  write("base.json", report_with_owners(R"({"owner": "python3.11", "bytes": 500})"));
  write("new.json", report_with_owners(R"({"owner": "libarrow", "bytes": 300})"));
  const std::string prefix = "peak.process.besideMalloc.";
  options_.fail_if = {prefix + "python3.11.bytes>+10%", prefix + "libarrow.bytes>+300"};
  EXPECT_EQ(run(), 0) << out_.str();
  options_.fail_if = {prefix + "libarrow.bytes>+10%"};
  EXPECT_EQ(run(), 1);
  options_.fail_if = {prefix + "libarow.bytes>+10%"};
  out_.str("");
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("no compared run has peak.process.besideMalloc.libarow.bytes (did you "
                            "mean peak.process.besideMalloc.libarrow.bytes"),
            std::string::npos)
      << out_.str();
}

TEST_F(DiffCommand, TakesTheStrictGates) {
  options_.is_strict = true;
  EXPECT_EQ(run(), 0) << out_.str();
  change(" 104857600,", " 144857600,");
  EXPECT_EQ(run(), 1);
}

TEST_F(DiffCommand, ComparesTheRunsOfOneReport) {
  options_.paths = {dir_.file("base.json")};
  options_.baseline = "glibc";
  EXPECT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\nrun buddy\n  note: compared with run 'glibc' of the base\n"),
            std::string::npos)
      << out_.str();
  EXPECT_EQ(out_.str().find("\nrun glibc\n"), std::string::npos);
  EXPECT_NE(out_.str().find("\n1 run compared"), std::string::npos);
}

TEST_F(DiffCommand, ComparesAllRunsWithOneOfTheBase) {
  options_.baseline = "glibc";
  EXPECT_EQ(run(), 0);
  EXPECT_NE(out_.str().find("\n2 runs compared"), std::string::npos) << out_.str();
}

TEST_F(DiffCommand, RefusesABaselineThatIsNotThere) {
  options_.baseline = "glib";
  expect_refused("has no run labeled 'glib' (did you mean glibc?)");
}

TEST_F(DiffCommand, RefusesOneReportWithoutABaseline) {
  options_.paths = {dir_.file("base.json")};
  expect_refused("there is only one report");
}

TEST_F(DiffCommand, TakesSeveralBases) {
  change(" 104857600,", " 114857600,");
  write("wide.json", tests::read_bytes(dir_.file("new.json")));
  change(" 104857600,", " 112857600,");
  options_.fail_if = {"peak.committedBytes>+1%"};
  EXPECT_EQ(run(), 1);
  options_.paths.insert(options_.paths.begin(), dir_.file("wide.json"));
  out_.str("");
  EXPECT_EQ(run(), 0) << out_.str();
  EXPECT_NE(out_.str().find("base.json and 1 more"), std::string::npos);
}

TEST_F(DiffCommand, ReturnsOneWhenAGateFails) {
  change(" 104857600,", " 124857600,");
  options_.fail_if = {"peak.committedBytes>+5%"};
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("FAIL: 1 of 2 gate checks"), std::string::npos) << out_.str();
}

TEST_F(DiffCommand, ComparesCountersThatNoDoubleCanHold) {
  change("18446744073709551615", "18446744073709551614");
  options_.fail_if = {"end.cumulativeBytesUpper!=+0"};
  EXPECT_EQ(run(), 1);
}

TEST_F(DiffCommand, RestrictsItselfToOneRun) {
  change(" 104857600,", " 124857600,");  // of the first run, glibc
  options_.run = "buddy";
  options_.fail_if = {"peak.committedBytes>+5%"};
  EXPECT_EQ(run(), 0);
}

TEST_F(DiffCommand, ColoursWhatFailed) {
  change(" 104857600,", " 124857600,");
  options_.fail_if = {"peak.committedBytes>+5%"};
  options_.shows_all = true;
  console_.choose_colours(ColourChoice::kAlways);
  EXPECT_EQ(run(), 1);
  EXPECT_NE(out_.str().find("\033[31mFAIL  peak.committedBytes>+5%"), std::string::npos);
  EXPECT_NE(out_.str().find("\033[32mPASS  peak.committedBytes>+5%  [buddy]"), std::string::npos);
}

TEST_F(DiffCommand, ColoursNoFormatForMachines) {
  options_.format = replayer::DiffFormat::kMarkdown;
  console_.choose_colours(ColourChoice::kAlways);
  EXPECT_EQ(run(), 0);
  EXPECT_EQ(out_.str().find('\033'), std::string::npos) << out_.str();
}

TEST_F(DiffCommand, WarnsOfUnrelatedReportsWhereTheFormatGoesToAFile) {
  change("./server --flags", "python3 app.py");
  options_.format = replayer::DiffFormat::kJunit;
  EXPECT_EQ(run(), 0);
  EXPECT_NE(err_.str().find("WARNING: these reports are of different programs"), std::string::npos);
}

TEST_F(DiffCommand, WritesTheFormatAskedFor) {
  options_.format = replayer::DiffFormat::kJunit;
  EXPECT_EQ(run(), 0);
  EXPECT_TRUE(out_.str().starts_with("<?xml")) << out_.str();
}

TEST_F(DiffCommand, RefusesAGateThatItCannotRead) {
  options_.fail_if = {"peak.committedBytes>>5"};
  expect_refused("column 21: expected a number");
}

TEST_F(DiffCommand, RefusesAReportThatIsNotThere) {
  options_.paths.back() = dir_.file("none.json");
  expect_refused("none.json': No such file");
}

TEST_F(DiffCommand, RefusesAReportThatWasCutShort) {
  write("new.json", tests::sample_report_json().substr(0, 300));
  expect_refused("new.json' is not well-formed JSON");
}

TEST_F(DiffCommand, RefusesALabelThatNoRunHas) {
  options_.run = "jemalloc";
  expect_refused("has no run labeled 'jemalloc'; it has 'glibc', 'buddy'");
}

TEST_F(DiffCommand, RefusesAnOutputThatTakesNothing) {
  out_.setstate(std::ios::badbit);
  expect_refused("cannot write to standard output");
}

}  // namespace
}  // namespace heaptape::cli
