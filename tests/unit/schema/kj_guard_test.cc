#include "schema/kj_guard.h"

#include <gtest/gtest.h>
#include <kj/debug.h>

#include <algorithm>
#include <filesystem>
#include <initializer_list>

#include "schema/tape/tape_writer.h"
#include "tests/support/golden.h"
#include "tests/support/tapes.h"
#include "tests/support/temp_dir.h"

namespace heaptape::schema {
namespace {

namespace fs = std::filesystem;

std::string reason_of(const char* description) {
  return kj_reason(
      kj::Exception(kj::Exception::Type::FAILED, "file.c++", 7, kj::heapString(description)));
}

TEST(KjReason, LeavesOutTheConditionAndTheFullStop) {
  EXPECT_EQ(reason_of("expected size < 5; Message is too large."), "Message is too large");
}

TEST(KjReason, IsCutToALengthThatFitsAMessage) {
  EXPECT_EQ(reason_of(std::string(500, 'x').c_str()), std::string(160, 'x') + "...");
}

TEST(KjGuard, ReturnsWhatItsBodyReturns) {
  EXPECT_EQ(*guard_kj(base::ErrorCode::kIo, "what", [] { return base::Result<int>(3); }), 3);
}

TEST(KjGuard, TurnsAnExceptionIntoAnError) {
  const auto fail = []() -> base::Status {
    KJ_FAIL_REQUIRE("bad pointer");  // NOLINT(bugprone-suspicious-semicolon): the macro is an if
  };
  const auto result = guard_kj(base::ErrorCode::kDamaged, "its index is damaged", fail);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, base::ErrorCode::kDamaged);
  EXPECT_EQ(result.error().message, "its index is damaged: bad pointer");
}

TEST(KjGuard, KeepsATextThatIsTooLongForAMessageFromThrowing) {
  tests::TempDir dir;
  TapeHeader header = tests::sample_header();
  header.executable.assign(size_t{1} << 29, 'x');
  const auto writer = TapeWriter::create(dir.file("t"), header);
  ASSERT_FALSE(writer.ok());
  EXPECT_TRUE(writer.error().message.starts_with("cannot build the header of a tape: "))
      << writer.error().message;
}

bool holds_any(const std::string& text, std::initializer_list<const char*> parts) {
  return std::ranges::any_of(parts, [&](const char* part) { return text.find(part) != text.npos; });
}
// Whether a file can build or read messages, and whether it knows the guard.
bool handles_messages(const std::string& text) {
  return holds_any(text, {"#include <capnp/", ".capnp.h\"", "\"schema/report/report_json.h\"",
                          "\"schema/report/report_figures.h\""});
}
bool knows_the_guard(const std::string& text) {
  return holds_any(text, {"guard_kj", "\"schema/tape/wire_words.h\""});
}

TEST(KjGuard, IsKnownToEveryFileThatHandlesMessages) {
  size_t files = 0;
  for (const char* folder :
       {"base", "schema", "recorder", "allocators", "replayer", "scenarios", "cli"}) {
    for (const auto& entry :
         fs::recursive_directory_iterator(tests::golden_path("../../" + std::string(folder)))) {
      if (entry.path().extension() != ".cc") continue;
      const std::string text = tests::read_bytes(entry.path());
      if (!handles_messages(text)) continue;
      ++files;
      EXPECT_TRUE(knows_the_guard(text)) << entry.path();
    }
  }
  EXPECT_GE(files, 8u);
}

}  // namespace
}  // namespace heaptape::schema
