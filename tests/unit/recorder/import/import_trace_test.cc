#include "recorder/import/import_trace.h"

#include <gtest/gtest.h>

#include "recorder/import/trace_format.h"
#include "tests/support/golden.h"
#include "tests/support/tapes.h"
#include "tests/support/traces.h"

namespace heaptape::recorder {
namespace {

class ImportTrace : public testing::Test {
 protected:
  schema::TapeSummary tape_summary() {
    return *schema::TapeReader::open(importer_.tape())->summary();
  }
  tests::TraceImporter importer_;
};

TEST_F(ImportTrace, AnUnknownFormatIsRefusedWithThoseThatAreKnown) {
  const auto result = importer_.try_import("andriod", "");
  EXPECT_EQ(result.error().code, base::ErrorCode::kUsage);
  EXPECT_NE(result.error().message.find("did you mean android?"), std::string::npos);
}

TEST_F(ImportTrace, AFileThatIsNotOfTheFormatLeavesNoTape) {
  for (const TraceFormat& format : trace_formats()) {
    const auto result = importer_.try_import(format.name, "To be, or not to be\n");
    ASSERT_FALSE(result.ok()) << format.name;
    EXPECT_EQ(result.error().code, base::ErrorCode::kForeign) << format.name;
    EXPECT_FALSE(std::filesystem::exists(importer_.tape()));
  }
}

TEST_F(ImportTrace, NoFormatTakesAnEmptyFile) {
  for (const TraceFormat& format : trace_formats()) {
    EXPECT_FALSE(importer_.try_import(format.name, "").ok()) << format.name;
  }
}

TEST_F(ImportTrace, TheTapeSaysWhereItComesFromAndWhatItLacks) {
  importer_.import("malloclab", "a 0 512\n");
  const auto tape = schema::TapeReader::open(importer_.tape());
  EXPECT_EQ(tape->header().origin.format, "malloclab");
  EXPECT_EQ(schema::absent_names(tape->header().origin),
            (std::vector<std::string>{"threads", "addresses", "alignments", "times",
                                      "which function was called", "calls that failed"}));
}

TEST_F(ImportTrace, WhatIsNotOnTheTapeIsAmongItsLosses) {
  importer_.import("mtrace",
                   "+ 0x10 0x8\nrubbish\n- 0x10\n- 0x10\n- 0x90\n+ 0x30 0x8\n+ 0x30 0x8\n");
  const schema::TapeSummary summary = tape_summary();
  EXPECT_EQ(summary.losses.lost_events, 3u);
  EXPECT_EQ(summary.losses.causes.malformed, 1u);
  EXPECT_EQ(summary.losses.causes.double_frees, 1u);
  EXPECT_EQ(summary.losses.causes.unknown_frees, 1u);
  EXPECT_EQ(summary.repaired_inversions, 1u);
}

TEST_F(ImportTrace, ACutArchiveGivesTheTapeOfWhatComesBeforeAndALostRange) {
  std::string text;
  tests::Random random(tests::test_seed());
  for (int i = 1; i < 50'000; ++i)
    text += "+ " + std::to_string(i) + "0 " + std::to_string(random.below(1000)) + "\n";
  std::string bytes = tests::packed(text, tests::Packing::kGzip);
  bytes.resize(bytes.size() / 2);
  const ImportResult result = importer_.import("mtrace", bytes);
  EXPECT_EQ(result.broken, "truncated gzip input");
  EXPECT_GT(result.summary.events, 10'000u);
  EXPECT_EQ(tape_summary().losses.lost_ranges, 1u);
}

TEST_F(ImportTrace, TheSameTraceGivesTheSameTape) {
  const std::string text = "a 0 512\na 1 16\nr 0 640\nf 1\n";
  importer_.import("malloclab", text);
  const std::string first = tests::read_bytes(importer_.tape());
  importer_.import("malloclab", tests::packed(text, tests::Packing::kZip));
  EXPECT_EQ(tests::read_bytes(importer_.tape()), first);
}

TEST_F(ImportTrace, OldTapesWereRecordedAndLackNothing) {
  const auto tape = schema::TapeReader::open(tests::golden_path("tape-v1.tape"));
  EXPECT_EQ(tape->header().origin, schema::TapeOrigin());
}

}  // namespace
}  // namespace heaptape::recorder
