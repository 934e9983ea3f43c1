// The tape of format 1.0 that docs/tape-format.md takes apart byte by byte. It must stay readable.
#include <gtest/gtest.h>

#include <cctype>
#include <fstream>
#include <string>

#include "schema/tape/chunk.h"
#include "schema/tape/tape_reader.h"
#include "schema/tape/tape_writer.h"
#include "tests/support/golden.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

const std::vector<Event> kEvents = {
    {Op::kMalloc, 0, 24, 0, 0x5555557592a0, 0},
    {Op::kMalloc, 0, 24, 0, 0x5555557592c0, 0},
    {Op::kPosixMemalign, 1, 100, 64, 0x555555759300, 0},
    {Op::kRealloc, 0, 200, 0, 0x555555759370, 0x5555557592a0},
    {Op::kFree, 1, 0, 0, 0, 0x555555759300},
    {Op::kFree, 1, 0, 0, 0, 0},
};

const ProcessSample kSample{6, 2'000'000, 135'168, {{0x555555759000, 0x55555577a000}}};

TapeSummary expected_summary() {
  TapeSummary summary;
  summary.events = 6;
  summary.allocations = 3;
  summary.frees = 2;
  summary.reallocations = 1;
  summary.threads = 2;
  summary.duration_ns = 2'500'000;
  return summary;
}

// How the file was made, for the next version of the format: HEAPTAPE_UPDATE_GOLDEN=1 on a tree
// without it.
void write_golden(const std::string& path) {
  auto writer = TapeWriter::create(path, tests::sample_header());
  ASSERT_TRUE(writer.ok());
  for (const Event& event : kEvents) (*writer)->append(event);
  (*writer)->add_time(1'500'000);
  (*writer)->add_sample(kSample);
  TapeSummary summary;
  summary.duration_ns = 2'500'000;
  ASSERT_TRUE((*writer)->finish(summary).ok());
}

class GoldenTapeV1 : public testing::Test {
 protected:
  GoldenTapeV1() {
    if (std::getenv("HEAPTAPE_UPDATE_GOLDEN") != nullptr && !std::filesystem::exists(path_)) {
      write_golden(path_);
    }
  }
  TapeReader open() {
    auto reader = TapeReader::open(path_);
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }

  const std::string path_ = tests::golden_path("tape-v1.tape");
};

TEST_F(GoldenTapeV1, GivesItsHeader) {
  EXPECT_EQ(open().header(), tests::sample_header());
}

TEST_F(GoldenTapeV1, GivesItsEvents) {
  TapeReader reader = open();
  EXPECT_EQ(tests::read_events(reader), kEvents);
}

TEST_F(GoldenTapeV1, GivesItsTimesAndSamples) {
  TapeReader reader = open();
  EventBatch batch;
  ASSERT_TRUE(reader.read(batch, 100).ok());
  EXPECT_EQ(batch.times, (std::vector<TimeSample>{{6, 1'500'000}}));
  EXPECT_EQ(batch.samples, std::vector<ProcessSample>{kSample});
}

TEST_F(GoldenTapeV1, GivesItsSummary) {
  EXPECT_EQ(*open().summary(), expected_summary());
}

// Lines like "0010  48 54 63 6b ..." of the document, against the bytes at that offset.
void expect_bytes(const std::string& line, const std::string& file) {
  size_t at = std::stoul(line.substr(0, 4), nullptr, 16);
  for (size_t i = 6; i + 1 < line.size() && i < 6 + 16 * 3; i += 3) {
    if (std::isxdigit(static_cast<unsigned char>(line[i])) == 0) break;
    const auto byte = static_cast<uint8_t>(std::stoul(line.substr(i, 2), nullptr, 16));
    ASSERT_EQ(byte, static_cast<uint8_t>(file.at(at++))) << "in the line " << line;
  }
}

TEST_F(GoldenTapeV1, IsWhatTheDocumentShows) {
  const std::string file = tests::read_bytes(path_);
  std::ifstream document(tests::golden_path("../../docs/tape-format.md"));
  int lines = 0;
  for (std::string line; std::getline(document, line);) {
    const bool is_dump = line.size() > 8 && line.compare(4, 2, "  ") == 0 &&
                         line.find_first_not_of("0123456789abcdef") == 4;
    if (!is_dump) continue;
    expect_bytes(line, file);
    ++lines;
  }
  EXPECT_GT(lines, 10);
}

}  // namespace
}  // namespace heaptape::schema
