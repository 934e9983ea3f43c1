#include "recorder/import/trace_input.h"

#include <gtest/gtest.h>

#include "tests/support/tapes.h"
#include "tests/support/traces.h"

namespace heaptape::recorder {
namespace {

using tests::Packing;

class TraceInputTest : public testing::Test {
 protected:
  base::Result<TraceInput> open(const std::string& bytes) {
    tests::write_bytes(path_, bytes);
    return TraceInput::open(path_);
  }
  // Of the file; a broken one ends with why.
  std::string lines(const std::string& bytes) {
    auto input = open(bytes);
    if (!input.ok()) return input.error().message;
    std::string text;
    while (const auto line = input->next_line()) text += std::string(*line) + "|";
    return text + input->broken();
  }
  static std::string numbered_lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += "line " + std::to_string(i) + "\n";
    return text;
  }

  tests::TempDir dir_;
  std::string path_ = dir_.file("trace");
};

TEST_F(TraceInputTest, GivesTheSameLinesHoweverTheyArePacked) {
  const std::string text = numbered_lines(100'000);
  const std::string plain = lines(text);
  EXPECT_EQ(std::count(plain.begin(), plain.end(), '|'), 100'000);
  for (const Packing packing :
       {Packing::kGzip, Packing::kZstd, Packing::kXz, Packing::kBzip2, Packing::kZip}) {
    EXPECT_EQ(lines(tests::packed(text, packing)), plain) << static_cast<int>(packing);
  }
}

TEST_F(TraceInputTest, ALastLineNeedsNoEnd) {
  EXPECT_EQ(lines("a\nb"), "a|b|");
}

TEST_F(TraceInputTest, LinesMayEndAsOnWindows) {
  EXPECT_EQ(lines("a\r\n\r\nb\r\n"), "a||b|");
}

TEST_F(TraceInputTest, AnEmptyFileHasNoLines) {
  EXPECT_EQ(lines(""), "");
}

TEST_F(TraceInputTest, ALineThatIsTooLongIsCutAndTheNextOneIsWhole) {
  auto input = open(std::string(5 * TraceInput::kMaxLineBytes, 'x') + "\nnext\n");
  EXPECT_EQ(input->next_line()->size(), TraceInput::kMaxLineBytes);
  EXPECT_EQ(*input->next_line(), "next");
  EXPECT_EQ(input->line_number(), 2u);
}

TEST_F(TraceInputTest, ACutGzipGivesWhatIsWholeAndSaysSo) {
  std::string bytes = tests::packed(numbered_lines(200'000), Packing::kGzip);
  bytes.resize(bytes.size() / 2);
  const std::string text = lines(bytes);
  EXPECT_TRUE(text.starts_with("line 0|line 1|")) << text.substr(0, 100);
  EXPECT_TRUE(text.ends_with("truncated gzip input")) << text.substr(text.size() - 100);
}

TEST_F(TraceInputTest, ACutZstdSaysSo) {
  std::string bytes = tests::packed(numbered_lines(200'000), Packing::kZstd);
  bytes.resize(bytes.size() / 2);
  EXPECT_NE(lines(bytes).find("runcated"), std::string::npos);
}

TEST_F(TraceInputTest, OfAZipWithSeveralFilesTheFirstIsReadAndTheOthersAreNamed) {
  const std::string bytes = tests::packed("a\n", Packing::kZip, {"one.txt", "two.txt"});
  EXPECT_EQ(lines(bytes), "a|the archive has other files after it, which are ignored");
}

TEST_F(TraceInputTest, BytesArePeekedAtAndPassed) {
  auto input = open("abcdef");
  EXPECT_EQ(input->peek(4).size(), 4u);
  input->skip(4);
  EXPECT_EQ(input->offset(), 4u);
  EXPECT_EQ(input->peek(4).size(), 2u);
}

TEST_F(TraceInputTest, RandomBytesEndSomehow) {
  tests::Random random(tests::test_seed());
  for (int i = 0; i < 200; ++i) {
    std::string bytes = tests::packed("line\n", static_cast<Packing>(random.below(6)));
    for (int n = 0; n < 4; ++n)
      bytes[random.below(bytes.size())] = static_cast<char>(random.next());
    lines(bytes);
  }
}

TEST_F(TraceInputTest, AFolderIsRefused) {
  EXPECT_EQ(TraceInput::open(dir_.path()).error().code, base::ErrorCode::kUsage);
}

TEST_F(TraceInputTest, AFileThatIsNotThereIsNotFound) {
  EXPECT_EQ(TraceInput::open(dir_.file("none")).error().code, base::ErrorCode::kNotFound);
}

}  // namespace
}  // namespace heaptape::recorder
